//! A handshake without cryptography: the messages and the encryption levels of TLS (RFC 9001 section
//! 4.1.4), padded to typical sizes. It carries the transport parameters alone.

/// Size of a message without transport parameters: of `ServerHello`, and of the client's
/// `Finished`.
const SERVER_HELLO: usize = 90;
const FINISHED: usize = 36;
/// Size of `ClientHello`, and of the server's messages from `EncryptedExtensions` to `Finished`,
/// beside the transport parameters.
const CLIENT_HELLO: usize = 180;
const SERVER_FLIGHT: usize = 550;

/// The next action of an end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The client writes `ClientHello`.
    Hello,
    /// Wait for the peer's first message.
    AwaitHello,
    /// Give the Handshake keys; the server writes `ServerHello`.
    HandshakeKeys,
    /// The client waits for the server's other messages.
    AwaitFlight,
    /// Give the 1-RTT keys, and write the last messages.
    DataKeys,
    /// The server waits for the client's `Finished`.
    AwaitFinished,
    Done,
}

/// A message that this handshake does not have.
pub(super) struct Malformed;

/// One end of a handshake.
pub(super) struct Handshake {
    is_client: bool,
    step: Step,
    /// The own transport parameters.
    own: Vec<u8>,
    /// Received bytes that are not yet a whole message.
    received: Vec<u8>,
    pub(super) is_handshaking: bool,
}

impl Handshake {
    pub(super) fn new(is_client: bool, own: Vec<u8>) -> Handshake {
        let step = if is_client { Step::Hello } else { Step::AwaitHello };
        Handshake { is_client, step, own, received: Vec::new(), is_handshaking: true }
    }

    /// Reads messages. Returns the peer's transport parameters, if they are among them.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
        let mut params = None;
        self.received.extend(bytes);
        while let [high, low, rest @ ..] = &self.received[..] {
            let len = usize::from(u16::from_be_bytes([*high, *low]));
            if len < 2 {
                return Err(Malformed);
            }
            let Some(message) = rest.get(..len).map(<[u8]>::to_vec) else { break };
            self.received.drain(..2 + len);
            params = self.on_message(&message)?.or(params);
        }
        Ok(params)
    }

    /// A whole message has arrived.
    fn on_message(&mut self, message: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
        let has_params = matches!(
            (self.is_client, self.step),
            (false, Step::AwaitHello) | (true, Step::AwaitFlight)
        );
        match (self.is_client, self.step) {
            (_, Step::AwaitHello) => self.step = Step::HandshakeKeys,
            (true, Step::AwaitFlight) => {
                (self.step, self.is_handshaking) = (Step::DataKeys, false);
            }
            (false, Step::AwaitFinished) => {
                (self.step, self.is_handshaking) = (Step::Done, false);
            }
            _ => return Err(Malformed),
        }
        let len = usize::from(u16::from_be_bytes([message[0], message[1]]));
        let params = || message.get(2..2 + len).map(<[u8]>::to_vec).ok_or(Malformed);
        has_params.then(params).transpose()
    }

    /// Writes the next messages; returns whether the keys of a further level follow.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) -> bool {
        match self.step {
            Step::Hello => {
                message(out, &self.own, CLIENT_HELLO);
                self.step = Step::AwaitHello;
                false
            }
            Step::HandshakeKeys => {
                if !self.is_client {
                    message(out, &[], SERVER_HELLO);
                }
                self.step = if self.is_client { Step::AwaitFlight } else { Step::DataKeys };
                true
            }
            Step::DataKeys => {
                match self.is_client {
                    true => message(out, &[], FINISHED),
                    false => message(out, &self.own, SERVER_FLIGHT),
                }
                self.step = if self.is_client { Step::Done } else { Step::AwaitFinished };
                true
            }
            Step::AwaitHello | Step::AwaitFlight | Step::AwaitFinished | Step::Done => false,
        }
    }
}

/// Writes a message: its length, the length of the transport parameters, these, and padding.
fn message(out: &mut Vec<u8>, params: &[u8], padding: usize) {
    let len = 2 + params.len() + padding;
    out.extend((len as u16).to_be_bytes());
    out.extend((params.len() as u16).to_be_bytes());
    out.extend(params);
    out.resize(out.len() + padding, 0);
}
