//! Reads of streams, which leave the stack no pieces to reassemble.

use noq_proto::{Connection, ReadError, StreamId};
use sojourn_quic::{Held, Reassembly};

/// Passes the bytes of a stream to `take` in their order, as long as it wants more. Returns whether
/// more may come.
pub(crate) fn read_stream(
    id: StreamId,
    connection: &mut Connection,
    order: &mut Reassembly,
    mut take: impl FnMut(&[u8]) -> bool,
) -> bool {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(false) else { return false };
    let mut wants_more = true;
    // Flow control limits the bytes that have arrived.
    let is_open = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => {
                let pass = |bytes: &[u8]| wants_more = wants_more && take(bytes);
                order.insert(chunk.offset, chunk.bytes, pass);
                if !wants_more {
                    break true;
                }
            }
            Ok(None) | Err(ReadError::Reset(_)) => break false,
            Err(ReadError::Blocked) => break true,
        }
    };
    // The next poll sends the new flow control credit.
    let _ = chunks.finalize();
    is_open
}

/// The data of all streams that wait for earlier ones.
pub(crate) fn held<'a>(all: impl IntoIterator<Item = &'a Reassembly>) -> Held {
    all.into_iter().map(Reassembly::held).sum()
}
