//! Any source: its kind by its content, and its observation.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use sojourn_trace::capture::{Capture, ReadError, Unpacked};

use super::{Damage, Kind, Observation, Observer, flent, iperf3, qlog, run, ss};

/// Bytes from which the kind is told.
const HEAD: u64 = 1 << 16;
/// Greatest text that is read whole, in bytes: JSON of Flent, iperf3 and runs. Its values take up to
/// 40 times as much memory, so that a packed text, of a file that may be tiny, has less.
const MOST_TEXT: u64 = 64 << 20;
const MOST_PACKED: u64 = 16 << 20;
/// Packets between two questions whether to stop: about 0.1 s.
const AT_A_TIME: u64 = 1 << 18;

/// The kinds that are read, in one line.
pub const ACCEPTED: &str =
    "pcap or pcapng, qlog, a Flent data file, JSON of iperf3, a log of ss -ti, or a run directory";

/// Reads a file of any kind from what `open` returns. A qlog file may be opened twice. `name` names
/// its flows if it has no names, and `is_stopped` is asked now and then.
///
/// A damaged file gives what comes before the damage, which is in the result. `None`: the content is
/// of no known kind.
///
/// # Errors
/// If the file cannot be opened or read.
pub fn read<R: Read>(
    name: &str,
    mut open: impl FnMut() -> io::Result<R>,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Option<Observation>> {
    let mut from = Unpacked::new(open()?);
    let mut head = Vec::new();
    // Damage within the head comes back when the rest is read.
    let failure = from.by_ref().take(HEAD).read_to_end(&mut head).err();
    let Some(kind) = kind(&head) else {
        return failure.map_or(Ok(None), Err);
    };
    let most = if from.compression().is_some() { MOST_PACKED } else { MOST_TEXT };
    let mut rest = BufReader::new(Cursor::new(head).chain(from));
    Ok(Some(match kind {
        Kind::Capture => capture(rest, is_stopped)?,
        Kind::Ss => ss::read(rest)?,
        Kind::Qlog => {
            let mut first = Some(rest);
            let again = || -> io::Result<Box<dyn BufRead + '_>> {
                Ok(match first.take() {
                    Some(rest) => Box::new(rest),
                    None => Box::new(BufReader::new(Unpacked::new(open()?))),
                })
            };
            qlog::read(name, again)?
        }
        Kind::Flent | Kind::Iperf3 | Kind::Run => {
            let mut text = Vec::new();
            let read = rest.by_ref().take(most + 1).read_to_end(&mut text);
            if text.len() as u64 > most {
                return Ok(Some(too_long(kind, most)));
            }
            let text = String::from_utf8_lossy(&text);
            let mut found = match kind {
                Kind::Flent => flent::read(&text),
                Kind::Iperf3 => iperf3::read(&text),
                _ => run::read(&text),
            };
            if let Err(error) = read {
                let (offset, message) = (text.len() as u64, error.to_string());
                found.damage = Some(Damage { offset, message });
            }
            found
        }
    }))
}

fn too_long(kind: Kind, most: u64) -> Observation {
    let message = format!("the text has more than {} MiB; split the measurement", most >> 20);
    Observation { damage: Some(Damage { offset: most, message }), ..Observation::new(kind) }
}

fn capture(from: impl Read, is_stopped: &dyn Fn() -> bool) -> io::Result<Observation> {
    let (mut observer, mut capture) = (Observer::new(), Capture::new(from));
    let damage = loop {
        match observer.read(&mut capture, AT_A_TIME) {
            Ok(AT_A_TIME) if !is_stopped() => {}
            Ok(_) => break None,
            Err(ReadError::Malformed(malformed)) => {
                let message = malformed.fault.to_string();
                break Some(Damage { offset: malformed.offset, message });
            }
            Err(ReadError::Io(error)) => return Err(error),
        }
    };
    Ok(Observation { damage, ..observer.finish() })
}

/// The kind of a file by its first bytes.
pub(super) fn kind(head: &[u8]) -> Option<Kind> {
    if is_capture(head) {
        return Some(Kind::Capture);
    }
    let text = String::from_utf8_lossy(head);
    let begin = text.trim_start_matches(['\u{feff}', '\u{1e}']).trim_start();
    if begin.starts_with('{') {
        return Keys { text: begin.as_bytes() }.find_map(|key| kind_of_key(&key));
    }
    let mut words = text.split_whitespace();
    let has = |start: &str| text.split_whitespace().any(|word| word.starts_with(start));
    let is_ss = has("cwnd:") && has("rtt:");
    (is_ss && words.next().is_some()).then_some(Kind::Ss)
}

/// The magic numbers of pcapng, and of pcap with µs and ns in both byte orders.
fn is_capture(head: &[u8]) -> bool {
    const MAGIC: [[u8; 4]; 5] = [
        [0x0a, 0x0d, 0x0d, 0x0a],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
    ];
    MAGIC.iter().any(|magic| head.starts_with(magic))
}

/// Fields of the outermost object that only one kind has.
fn kind_of_key(key: &str) -> Option<Kind> {
    match key {
        "qlog_version"
        | "qlog_format"
        | "file_schema"
        | "serialization_format"
        | "traces"
        | "trace" => Some(Kind::Qlog),
        "raw_values" | "x_values" | "results" | "metadata" => Some(Kind::Flent),
        "intervals" | "start" | "event" => Some(Kind::Iperf3),
        "run" | "flows" => Some(Kind::Run),
        _ => None,
    }
}

/// The names of the fields of the outermost object in a text that may be cut.
struct Keys<'a> {
    text: &'a [u8],
}

impl Keys<'_> {
    fn find_map<T>(&self, mut f: impl FnMut(String) -> Option<T>) -> Option<T> {
        let (mut depth, mut at) = (0_usize, 0);
        while at < self.text.len() {
            match self.text[at] {
                b'"' => {
                    let end = self.string_end(at)?;
                    let mut after = self.text[end + 1..].iter();
                    let is_name = after.find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                    if depth == 1 && is_name {
                        let key = String::from_utf8_lossy(&self.text[at + 1..end]).into_owned();
                        if let Some(found) = f(key) {
                            return Some(found);
                        }
                    }
                    at = end;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The place of the quote that ends the string at `begin`.
    fn string_end(&self, begin: usize) -> Option<usize> {
        let mut at = begin + 1;
        while *self.text.get(at)? != b'"' {
            at += if self.text[at] == b'\\' { 2 } else { 1 };
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::kind;

    #[test]
    fn the_content_shows_the_kind_and_its_name_does_not() {
        assert_eq!(kind(&[0x0a, 0x0d, 0x0d, 0x0a, 0]), Some(Kind::Capture));
        assert_eq!(kind(b"\x1e{\"file_schema\":\"urn\"}"), Some(Kind::Qlog));
        assert_eq!(kind(b"{\"title\": \"x\", \"traces\": ["), Some(Kind::Qlog));
        assert_eq!(kind(b"{\"start\": {\"connected\": []}"), Some(Kind::Iperf3));
        assert_eq!(kind(b"{\"metadata\": {\"traces\": 1}}"), Some(Kind::Flent));
        assert_eq!(kind(b"\t cubic rto:204 rtt:3/1 mss:1448 cwnd:10"), Some(Kind::Ss));
        assert_eq!(kind(b"{\"title\": {\"traces\": []}}"), None);
        assert_eq!(kind(b"hello"), None);
        assert_eq!(kind(b""), None);
    }
}
