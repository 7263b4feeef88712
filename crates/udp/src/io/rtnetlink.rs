//! rtnetlink: interfaces, addresses, routes and queue disciplines of Linux (RFC 3549, rtnetlink(7)).
//!
//! A message is a fixed header, which its kind decides, and attributes. An attribute is a length, a
//! kind and a value; attributes may be a value.

use std::io::{self, ErrorKind, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recvmsg, send, socket,
};

/// Room for one datagram of answers; the kernel sends at most 32 KiB at a time.
const ANSWERS: usize = 1 << 16;

/// Octets of the header of a message (`nlmsghdr`), and of `tcmsg`.
const HEADER: usize = 16;
const TC_HEADER: usize = 20;

/// The flag of a list that changed while the kernel wrote it (`linux/netlink.h`), and the most
/// requests for one list.
const INTERRUPTED: u16 = 0x10;
const ATTEMPTS: u32 = 10;

/// Attributes of a request.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Vec<u8>);

impl Attributes {
    /// Adds one of this kind.
    ///
    /// # Panics
    /// If the value has 64 KiB or more.
    #[must_use]
    pub fn with(mut self, kind: u16, value: impl AsRef<[u8]>) -> Attributes {
        let value = value.as_ref();
        let length = u16::try_from(4 + value.len()).expect("an attribute is short");
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Adds a text, which ends with a zero.
    #[must_use]
    pub fn with_text(self, kind: u16, text: &str) -> Attributes {
        self.with(kind, [text.as_bytes(), &[0]].concat())
    }

    /// Adds a whole number.
    #[must_use]
    pub fn with_number(self, kind: u16, number: u32) -> Attributes {
        self.with(kind, number.to_ne_bytes())
    }
}

impl AsRef<[u8]> for Attributes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The attributes in `octets`, by kind, up to the first that is damaged.
pub fn attributes(octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = octets;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let kind = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & libc::NLA_TYPE_MASK as u16, value))
    })
}

/// A queue discipline of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qdisc {
    /// Index of its interface.
    pub index: u32,
    /// Major number of its handle.
    pub major: u16,
    /// Handle of its parent: another discipline's, or a place of the interface, such as that of `clsact`
    /// and `ingress` (`TC_H_INGRESS`).
    pub parent: u32,
    /// Its name, such as `fq_codel`.
    pub kind: String,
    /// Its attributes.
    pub attributes: Vec<u8>,
}

impl Qdisc {
    fn of(message: &[u8]) -> Option<Qdisc> {
        let word = |at: usize| Some(u32::from_ne_bytes(*message.get(at..)?.first_chunk()?));
        let own = message.get(TC_HEADER..)?;
        let (_, name) = attributes(own).find(|(kind, _)| *kind == libc::TCA_KIND)?;
        Some(Qdisc {
            index: word(4)?,
            major: (word(8)? >> 16) as u16,
            parent: word(12)?,
            kind: String::from_utf8_lossy(name).trim_end_matches('\0').to_owned(),
            attributes: own.to_vec(),
        })
    }
}

/// A socket of the namespace in which it was opened.
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
    /// Number of the last request.
    number: AtomicU32,
}

impl Socket {
    /// Opens a socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn open() -> io::Result<Socket> {
        let protocol = Some(SockProtocol::NetlinkRoute);
        let descriptor =
            socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol)?;
        Ok(Socket { descriptor, number: AtomicU32::new(0) })
    }

    /// Requests, and returns the messages of the answer without their `nlmsghdr`: none for a change
    /// that the kernel has made, one for a question, any number for a list (`NLM_F_DUMP` in `flags`).
    ///
    /// Use a socket for one request at a time.
    ///
    /// # Errors
    /// The kernel's, as an error of the operating system; `InvalidData` if the answer is damaged;
    /// `ResourceBusy` if a list changed during each of ten attempts.
    pub fn ask(
        &self,
        kind: u16,
        flags: libc::c_int,
        header: &[u8],
        attributes: &Attributes,
    ) -> io::Result<Vec<Vec<u8>>> {
        for _ in 0..ATTEMPTS {
            let number = self.number.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            self.request(number, kind, flags, header, attributes)?;
            let answer = self.answer(number).inspect_err(|_| self.discard())?;
            if !answer.is_interrupted {
                return Ok(answer.messages);
            }
        }
        Err(ErrorKind::ResourceBusy.into())
    }

    fn request(
        &self,
        number: u32,
        kind: u16,
        flags: libc::c_int,
        header: &[u8],
        attributes: &Attributes,
    ) -> io::Result<()> {
        let length = (HEADER + header.len() + attributes.0.len()) as u32;
        // An acknowledgement ends the answer of all requests but those for a list.
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut octets = length.to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend(flags.to_ne_bytes());
        octets.extend(number.to_ne_bytes());
        // The kernel fills in the port.
        octets.extend([0; 4]);
        octets.extend(header);
        octets.extend(&attributes.0);
        again(|| send(self.descriptor.as_raw_fd(), &octets, MsgFlags::empty()))?;
        Ok(())
    }

    fn answer(&self, number: u32) -> io::Result<Answer> {
        let mut answer = Answer::default();
        let mut room = vec![0; ANSWERS];
        loop {
            let (read, sender) = self.receive(&mut room, MsgFlags::empty())?;
            // The kernel is port 0. Any process may send to this socket.
            if sender.is_some_and(|sender| sender.pid() != 0) {
                continue;
            }
            if answer.take(number, &room[..read])? {
                return Ok(answer);
            }
        }
    }

    /// Reads the rest of a list that was given up, since the kernel refuses another one until then.
    fn discard(&self) {
        let mut room = vec![0; ANSWERS];
        while self.receive(&mut room, MsgFlags::MSG_DONTWAIT).is_ok() {}
    }

    fn receive(
        &self,
        room: &mut [u8],
        flags: MsgFlags,
    ) -> nix::Result<(usize, Option<NetlinkAddr>)> {
        again(|| {
            let mut parts = [IoSliceMut::new(room)];
            let read = recvmsg(self.descriptor.as_raw_fd(), &mut parts, None, flags)?;
            Ok((read.bytes, read.address))
        })
    }

    /// The queue disciplines of all interfaces, with their counters.
    ///
    /// # Errors
    /// As those of [`Socket::ask`].
    pub fn qdiscs(&self) -> io::Result<Vec<Qdisc>> {
        let none = Attributes::default();
        let all = self.ask(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &[0; TC_HEADER], &none)?;
        Ok(all.iter().filter_map(|one| Qdisc::of(one)).collect())
    }
}

/// Repeats a call that a signal interrupts.
fn again<T>(mut call: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// The answer to a request.
#[derive(Debug, Default)]
struct Answer {
    messages: Vec<Vec<u8>>,
    /// The list changed while the kernel wrote it.
    is_interrupted: bool,
}

impl Answer {
    /// Adds the messages of a datagram that answer request `number`; returns whether they are the last
    /// ones.
    fn take(&mut self, number: u32, mut octets: &[u8]) -> io::Result<bool> {
        while !octets.is_empty() {
            let (head, _) = octets.split_first_chunk::<HEADER>().ok_or(ErrorKind::InvalidData)?;
            let half = |at: usize| u16::from_ne_bytes([head[at], head[at + 1]]);
            let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|octet| head[at + octet]));
            let length = word(0) as usize;
            let message = octets.get(HEADER..length).ok_or(ErrorKind::InvalidData)?;
            octets = octets.get(length.next_multiple_of(4)..).unwrap_or_default();
            if word(8) != number {
                continue;
            }
            self.is_interrupted |= half(6) & INTERRUPTED != 0;
            if matches!(i32::from(half(4)), libc::NLMSG_DONE | libc::NLMSG_ERROR) {
                return ended(message);
            }
            self.messages.push(message.to_vec());
        }
        Ok(false)
    }
}

/// The end of an answer: an error code, of which zero is success.
fn ended(message: &[u8]) -> io::Result<bool> {
    let code = message.first_chunk().ok_or(ErrorKind::InvalidData)?;
    match i32::from_ne_bytes(*code) {
        code if code < 0 => Err(io::Error::from_raw_os_error(-code)),
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_written() {
        let inner = Attributes::default().with_text(3, "lo").with_number(4, 1500);
        let outer = Attributes::default().with(18, &inner).with(1, [7; 5]);
        let read: Vec<_> = attributes(outer.as_ref()).collect();
        assert_eq!(read, [(18, inner.as_ref()), (1, &[7; 5][..])]);
        let inside: Vec<_> = attributes(read[0].1).collect();
        assert_eq!(inside, [(3, &b"lo\0"[..]), (4, &1500_u32.to_ne_bytes())]);
    }

    #[test]
    fn damage_ends_the_attributes() {
        let whole = Attributes::default().with_number(1, 7).with_number(2, 8);
        for length in 0..whole.as_ref().len() {
            let found = attributes(&whole.as_ref()[..length]).count();
            assert_eq!(found, length / 8, "{length}");
        }
        assert_eq!(attributes(&[0, 0, 1, 0]).count(), 0, "a length below that of its header");
    }

    /// A message of `kind` with `flags`, as the kernel writes it.
    fn message(kind: i32, flags: u16, number: u32, content: &[u8]) -> Vec<u8> {
        let length = (HEADER + content.len()) as u32;
        let mut octets = length.to_ne_bytes().to_vec();
        octets.extend((kind as u16).to_ne_bytes());
        octets.extend(flags.to_ne_bytes());
        octets.extend(number.to_ne_bytes());
        octets.extend([0; 4]);
        octets.extend(content);
        octets
    }

    #[test]
    fn an_answer_has_the_messages_of_its_number_only() {
        let part = |number, content| message(libc::RTM_NEWQDISC.into(), 0, number, content);
        let done = |number, code: i32| message(libc::NLMSG_DONE, 0, number, &code.to_ne_bytes());
        let stale = [part(6, &[1; 4]), done(6, 0), message(libc::NLMSG_ERROR, 0, 5, &[0xff; 4])];
        let mut answer = Answer::default();
        assert!(!answer.take(7, &stale.concat()).expect("it is sound"));
        let own = [part(7, &[2; 4]), part(6, &[3; 4]), part(7, &[4; 4])];
        assert!(!answer.take(7, &own.concat()).expect("it is sound"));
        assert!(answer.take(7, &done(7, 0)).expect("it is sound"));
        assert_eq!(answer.messages, [[2; 4], [4; 4]]);
        assert!(!answer.is_interrupted);
        let refused = answer.take(7, &done(7, -libc::EPERM)).expect_err("an error code");
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn an_interrupted_list_is_known() {
        let mut answer = Answer::default();
        let done = message(libc::NLMSG_DONE, INTERRUPTED, 7, &[0; 4]);
        assert!(answer.take(7, &done).expect("it is sound") && answer.is_interrupted);
    }

    #[test]
    fn a_damaged_answer_is_an_error() {
        let whole = message(libc::NLMSG_DONE, 0, 7, &[0; 4]);
        for length in 1..whole.len() {
            let fault = Answer::default().take(7, &whole[..length]).expect_err("it is cut");
            assert_eq!(fault.kind(), ErrorKind::InvalidData, "{length}");
        }
        let fault = Answer::default().take(7, &message(libc::NLMSG_DONE, 0, 7, &[]));
        assert_eq!(fault.expect_err("it lacks its code").kind(), ErrorKind::InvalidData);
    }

    /// The answer to a request that was given up stays in the socket.
    #[test]
    fn an_answer_that_was_left_is_not_taken_for_the_next_one() {
        let socket = Socket::open().expect("any user may ask");
        let name = |name| Attributes::default().with_text(libc::IFLA_IFNAME, name);
        let lo = socket.ask(libc::RTM_GETLINK, 0, &[0; 16], &name("lo")).expect("it is there");
        let left = name("no-such-device");
        socket.request(0, libc::RTM_GETLINK, 0, &[0; 16], &left).expect("it is sent");
        let again = socket.ask(libc::RTM_GETLINK, 0, &[0; 16], &name("lo")).expect("it is there");
        assert_eq!((again.len(), &again[0][..8]), (1, &lo[0][..8]));
    }

    #[test]
    fn the_kernel_lists_queue_disciplines_and_refuses_what_is_not_there() {
        let socket = Socket::open().expect("any user may ask");
        let all = socket.qdiscs().expect("there is a list");
        assert!(all.iter().all(|one| one.index > 0 && !one.kind.is_empty()), "{all:?}");
        let name = Attributes::default().with_text(libc::IFLA_IFNAME, "no-such-device");
        let answer = socket.ask(libc::RTM_GETLINK, 0, &[0; 16], &name);
        let code = answer.expect_err("there is none").raw_os_error();
        assert_eq!(code, Some(libc::ENODEV));
    }
}
