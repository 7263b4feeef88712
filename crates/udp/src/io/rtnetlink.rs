//! Requests to the kernel's network over rtnetlink(7), in the namespace of the thread that opens the
//! socket.

use std::io;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Room for one answer.
const ANSWER: usize = 1 << 16;

/// Opens a socket.
///
/// # Errors
/// Those of the system.
pub fn open() -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Sends a request with these flags.
///
/// # Errors
/// Those of the system.
pub fn request(socket: &Socket, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
    request.finalize();
    let mut octets = vec![0; request.buffer_len()];
    request.serialize(&mut octets);
    socket.send(&octets, 0).map(drop)
}

/// Receives an answer.
///
/// # Errors
/// Those of the system, or if the answer is none of rtnetlink.
pub fn answer(socket: &Socket) -> io::Result<Vec<NetlinkMessage<RouteNetlinkMessage>>> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut octets = Vec::with_capacity(ANSWER);
    socket.recv(&mut octets, 0)?;
    let (mut rest, mut messages) = (&octets[..], Vec::new());
    while !rest.is_empty() {
        let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest).map_err(invalid)?;
        let length = (message.header.length as usize).next_multiple_of(4);
        rest = rest.get(length..).unwrap_or_default();
        messages.push(message);
    }
    Ok(messages)
}

/// The queue disciplines of all interfaces, with their counters.
///
/// # Errors
/// Those of the system.
pub fn qdiscs(socket: &Socket) -> io::Result<Vec<TcMessage>> {
    let all = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
    request(socket, all, NLM_F_REQUEST | NLM_F_DUMP)?;
    let mut found = Vec::new();
    loop {
        for message in answer(socket)? {
            match message.payload {
                NetlinkPayload::Done(_) => return Ok(found),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(one)) => {
                    found.push(one);
                }
                _ => {}
            }
        }
    }
}
