//! The parts of a summary that a live run and a transfer over a real network add.

use std::collections::BTreeMap;

use crate::columns::tables;

tables! {
    /// The timing of a live run, and the packets that no link counts. Every packet that enters is
    /// delivered, refused by a device, dropped by a link, or inside at the end. Over the kernel's links
    /// (`bottleneck` is `tc`), lateness is that of a reading of their counters or of a change.
    "summary.json: runs[].live" LiveSummary {
        /// the links: `sojourn`, or `tc` for the kernel's
        bottleneck: &'static str = required,
        /// the hosts' devices, `tun` or `veth`; null if the links are the kernel's
        device: Option<&'static str> = required,
        /// why the timing is not guaranteed: no TUN device, or no real-time priority; null if it is
        timing_note: Option<String> = required,
        /// whether queueing delays are `measured` or `estimated`
        queue_delays: &'static str = required,
        /// whether the dropped packets of each flow are `counted` or `estimated`
        flow_drops: &'static str = required,
        /// time from a packet's ideal arrival until the bottleneck's write of its group has returned;
        /// null without a packet
        lateness_p50_s: Option<f64> = required,
        lateness_p99_s: Option<f64> = required,
        lateness_p999_s: Option<f64> = required,
        lateness_max_s: Option<f64> = required,
        /// time from a packet's ideal arrival until that write began, without the receiving host's
        /// work; null if the links are the kernel's
        departure_p50_s: Option<f64> = required,
        departure_p99_s: Option<f64> = required,
        departure_p999_s: Option<f64> = required,
        /// whether the thread of the bottleneck had real-time priority
        realtime: bool = required,
        /// whether its memory was locked
        locked: bool = required,
        /// time that the thread spun
        spun_s: f64 = required,
        /// processor time that a hypervisor gave to other machines
        stolen_s: f64 = required,
        /// the reason why the timing was bad, with a remedy; null if it was good
        warning: Option<String> = required,
        /// packets that hosts sent into the links
        entered_packets: u64 = required,
        /// packets that were written to hosts
        delivered_packets: u64 = required,
        /// packets that belong to no flow, such as those of IPv6's neighbour discovery
        foreign_packets: u64 = required,
        /// packets that were lost at a device before the bottleneck read them
        overflowed_packets: u64 = required,
        /// packets that a receiving host's device refused
        refused_packets: u64 = required,
        /// packets on the links at the end
        inside_packets: u64 = required,
        /// packets that the capture has and lacks, one at each of its hosts; null without a capture
        captured_packets: Option<u64> = required,
        uncaptured_packets: Option<u64> = required,
        /// acknowledgements that the trace of `--tcp-probe` has and lacks; null without it
        ack_rows: Option<u64> = required,
        missed_ack_rows: Option<u64> = required,
        /// by flow that a QUIC stack carries: the lateness of its paced packets
        departures: BTreeMap<String, Departures> = required,
        /// by flow: `tcp` of the kernel, `udp` for Sojourn's transport over UDP, the name of its QUIC
        /// stack, `icmp` for echo requests, `simulated` for datagrams of simulated hosts
        transports: BTreeMap<String, String> = required,
        /// keeper of the departure times of Sojourn's transport over UDP, `timer` or `kernel`; null if
        /// the hosts are the kernel's
        paced_by: Option<&'static str> = required,
    }

    /// The lateness of a sender's paced packets.
    "summary.json: runs[].live.departures.FLOW" Departures {
        /// time by which a packet left after its departure time; null if none has waited for it
        lateness_p50_s: Option<f64> = required,
        lateness_p99_s: Option<f64> = required,
        lateness_max_s: Option<f64> = required,
    }

    /// A transfer of `sojourn send`. Counts of the server are null if its receipt did not arrive.
    "summary.json: runs[].transfer" TransferSummary {
        /// the server's address
        peer: String = required,
        /// controller, source and transport as given
        settings: serde_json::Value = required,
        /// whether all data were delivered; false if the duration ended the transfer
        complete: bool = required,
        /// payload that was acknowledged until the end
        delivered_bytes: u64 = required,
        /// the server's counts
        received_bytes: Option<u64> = required,
        received_packets: Option<u64> = required,
        duplicated_packets: Option<u64> = required,
        /// payload of a full packet
        mss_bytes: u64 = required,
        /// `carried`, `erased`, `partly erased`, `unused` or `unknown`
        ecn: &'static str = required,
        /// data packets sent, by ECN field
        sent_ect0_packets: u64 = required,
        sent_ect1_packets: u64 = required,
        /// data packets received, by ECN field
        received_ect0_packets: Option<u64> = required,
        received_ect1_packets: Option<u64> = required,
        received_ce_packets: Option<u64> = required,
        /// keeper of departure times: `timer` for the sender's thread, or `kernel`
        paced_by: &'static str = required,
        /// time by which a paced packet left after its departure time (with `kernel`, by which the
        /// kernel got it late); null without one
        lateness_p50_s: Option<f64> = required,
        lateness_p99_s: Option<f64> = required,
        lateness_max_s: Option<f64> = required,
        /// acknowledgements that overflowed the sender's receive buffer
        overflowed_packets: u64 = required,
        /// the notes below the command's table
        notes: Vec<String> = required,
    }
}
