//! The datagrams of a QUIC endpoint's socket, as pcapng, with the secrets of its connections.

use sojourn_quic::endpoint::KeyLogSink;
use sojourn_quic_udp::{Observer, Passing};
use sojourn_trace::export::packet::udp_between;
use sojourn_trace::export::{Direction, Interface, PcapNg};
use sojourn_units::Instant;

use super::disk::{Disk, Target};
use crate::observers::capture::Captured;

/// Greatest packet of IP.
const GREATEST: usize = 1 << 16;

/// The file of the packets, and that of the secrets.
pub(super) struct DatagramFile {
    disk: Disk,
    target: Target,
    keys: Target,
    secrets: KeyLogSink,
    /// The names of the interface: the host, and its work.
    host: (String, String),
    comment: String,
    open: Option<Open>,
}

/// The file, once its time 0 is known.
struct Open {
    out: PcapNg,
    interface: Interface,
    epoch_ns: u64,
    /// Time 0 of the present endpoint after that of the file.
    after_ns: u64,
    passed: u64,
    missed: u64,
    last: u64,
}

impl DatagramFile {
    /// `PREFIX.HOST.pcapng` of a host that is `sender` or `receiver` of the data. It has the secrets
    /// of connections with other machines, so that its owner alone can read it.
    pub(super) fn new(
        disk: &Disk,
        prefix: &str,
        title: &str,
        flow: &str,
        host: &str,
        secrets: KeyLogSink,
    ) -> DatagramFile {
        DatagramFile {
            disk: disk.clone(),
            target: Target::secret(format!("{prefix}.{host}.pcapng")),
            keys: Target::secret(format!("{prefix}.keys.log")),
            secrets,
            host: (format!("{flow} {host}"), format!("{host} of the data of {flow}")),
            comment: format!(
                "{title}: the datagrams of a socket. Headers of IP and UDP are synthetic."
            ),
            open: None,
        }
    }

    /// Completes the file. Returns the packets in it, and those that it lacks because the disk was
    /// too slow.
    pub(super) fn finish(&mut self) -> Captured {
        let Some(mut open) = self.open.take() else { return Captured::default() };
        open.out.statistics(open.interface, open.last, open.passed, open.missed);
        self.disk.complete(&self.target, &mut open.out);
        Captured { packets: open.passed - open.missed, missed: open.missed }
    }
}

impl Observer for DatagramFile {
    fn begun(&mut self, epoch_ns: u64) {
        if let Some(open) = &mut self.open {
            open.after_ns = epoch_ns.saturating_sub(open.epoch_ns);
            return;
        }
        let application = concat!("Sojourn ", env!("CARGO_PKG_VERSION"));
        let mut out = PcapNg::new(application, &self.comment).since(epoch_ns);
        let interface = out.interface_cut_to(GREATEST, &self.host.0, &self.host.1);
        self.open =
            Some(Open { out, interface, epoch_ns, after_ns: 0, passed: 0, missed: 0, last: 0 });
    }

    fn datagram(&mut self, passing: &Passing<'_>) {
        let Some(open) = &mut self.open else { return };
        // An end has the secrets of a packet before it sends the packet.
        let lines = self.secrets.take();
        if !lines.is_empty() {
            open.out.tls_secrets(&lines);
            self.disk.append(&self.keys, lines.into_bytes());
        }
        open.passed += 1;
        if self.disk.is_behind() {
            open.missed += 1;
        } else {
            open.add(passing);
        }
        self.disk.hand_on(&self.target, &mut open.out);
    }
}

impl Open {
    fn add(&mut self, passing: &Passing<'_>) {
        let Instant(at) = passing.at;
        let at = self.after_ns + at;
        let (from, to, direction) = match passing.is_sent {
            true => (passing.local, passing.remote, Direction::Outbound),
            false => (passing.remote, passing.local, Direction::Inbound),
        };
        let packet = udp_between(from, to, passing.ecn as u8, passing.payload);
        self.out.cut_packet(self.interface, at, direction, &packet, packet.len() as u32);
        self.last = self.last.max(at);
    }
}
