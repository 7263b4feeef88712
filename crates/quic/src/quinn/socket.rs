//! A socket of the crate `quinn` whose packets carry a kit's ECN codepoint.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use sojourn_units::Ecn;

use super::Kit;

impl Kit {
    /// The socket, sending ECT(1) for a controller of L4S. quinn itself sends ECT(0), or no ECN on a
    /// path that fails its validation, which stays so.
    pub fn socket(&self, inner: Arc<dyn AsyncUdpSocket>) -> Arc<dyn AsyncUdpSocket> {
        if self.codepoint() == Ecn::Ect1 { Arc::new(L4s(inner)) } else { inner }
    }
}

struct L4s(Arc<dyn AsyncUdpSocket>);

impl fmt::Debug for L4s {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("L4s").field(&self.0).finish()
    }
}

impl AsyncUdpSocket for L4s {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.0).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.0.try_send(&Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.map(|_| EcnCodepoint::Ect1),
            contents: transmit.contents,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        })
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.0.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.0.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.0.may_fragment()
    }
}
