//! rtnetlink: interfaces, addresses, routes and queue disciplines of Linux (RFC 3549, rtnetlink(7)).
//!
//! A message is a fixed header, which its kind decides, and attributes. An attribute is a length, a
//! kind and a value; attributes may be a value.

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// Room for one datagram of answers; the kernel sends at most 32 KiB at a time.
const ANSWERS: usize = 1 << 16;

/// Octets of the header of a message (`nlmsghdr`), and of `tcmsg`.
const HEADER: usize = 16;
const TC_HEADER: usize = 20;

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
            kind: String::from_utf8_lossy(name).trim_end_matches('\0').to_owned(),
            attributes: own.to_vec(),
        })
    }
}

/// A socket of the namespace in which it was opened.
#[derive(Debug)]
pub struct Socket {
    descriptor: OwnedFd,
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
        Ok(Socket { descriptor })
    }

    /// Requests, and returns the messages of the answer without their `nlmsghdr`: none for a change
    /// that the kernel has made, one for a question, any number for a list (`NLM_F_DUMP` in `flags`).
    ///
    /// # Errors
    /// The kernel's, as an error of the operating system, or that the answer is damaged.
    pub fn ask(
        &self,
        kind: u16,
        flags: libc::c_int,
        header: &[u8],
        attributes: &Attributes,
    ) -> io::Result<Vec<Vec<u8>>> {
        let length = (HEADER + header.len() + attributes.0.len()) as u32;
        // An acknowledgement ends the answer of all requests but those for a list.
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut octets = length.to_ne_bytes().to_vec();
        octets.extend(kind.to_ne_bytes());
        octets.extend(flags.to_ne_bytes());
        // No sequence number, since the socket has one request at a time; the kernel is port 0.
        octets.extend([0; 8]);
        octets.extend(header);
        octets.extend(&attributes.0);
        send(self.descriptor.as_raw_fd(), &octets, MsgFlags::empty())?;
        let mut messages = Vec::new();
        let mut room = vec![0; ANSWERS];
        loop {
            let read = recv(self.descriptor.as_raw_fd(), &mut room, MsgFlags::empty())?;
            if take(&room[..read], &mut messages)? {
                return Ok(messages);
            }
        }
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

/// Adds the messages of a datagram; returns whether they are the last ones.
fn take(mut octets: &[u8], messages: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    while let Some(length) = octets.first_chunk() {
        let length = u32::from_ne_bytes(*length) as usize;
        let message = octets.get(HEADER..length).ok_or(ErrorKind::InvalidData)?;
        let kind = u16::from_ne_bytes([octets[4], octets[5]]);
        if matches!(i32::from(kind), libc::NLMSG_DONE | libc::NLMSG_ERROR) {
            let code = message.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
            return if code < 0 { Err(io::Error::from_raw_os_error(-code)) } else { Ok(true) };
        }
        messages.push(message.to_vec());
        octets = octets.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
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
