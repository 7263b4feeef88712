//! A socket of the crate `noq` whose packets carry a kit's ECN codepoint.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};

use noq::udp::{EcnCodepoint, RecvMeta, Transmit};
use noq::{AsyncUdpSocket, UdpSender};
use sojourn_units::Ecn;

use super::Kit;

impl Kit {
    /// The socket, sending ECT(1) for a controller of L4S. noq itself sends ECT(0), or no ECN on a
    /// path that fails its validation, which stays so.
    pub fn socket(&self, inner: Box<dyn AsyncUdpSocket>) -> Box<dyn AsyncUdpSocket> {
        if self.codepoint() == Ecn::Ect1 { Box::new(L4s(inner)) } else { inner }
    }
}

#[derive(Debug)]
struct L4s(Box<dyn AsyncUdpSocket>);

impl AsyncUdpSocket for L4s {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(L4sSender(self.0.create_sender()))
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_recv(cx, bufs, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.0.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.0.may_fragment()
    }
}

#[derive(Debug)]
struct L4sSender(Pin<Box<dyn UdpSender>>);

impl UdpSender for L4sSender {
    fn poll_send(
        mut self: Pin<&mut Self>,
        transmit: &Transmit<'_>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let transmit = Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.map(|_| EcnCodepoint::Ect1),
            contents: transmit.contents,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        self.0.as_mut().poll_send(&transmit, cx)
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.0.max_transmit_segments()
    }
}
