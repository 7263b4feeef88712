//! The summary of a run.

use crate::columns::tables;
use crate::live::{LiveSummary, TransferSummary};

tables! {
    /// One run: a controller with a seed.
    "summary.json: runs[]" RunSummary {
        /// the controller that the run is for; if flows have their own, all of them joined by `+`
        control: String = required,
        /// a whole number; another writer numbers its repetitions with it
        seed: u64 = required,
        /// how long it ran
        duration_s: f64 = required,
        /// end of the warm-up (`measure.from`), by default 0: goodput, utilisation, and the figures of
        /// queueing delays, round-trip times and response times leave out the time before
        measured_from_s: f64 = absent,
        /// the flows
        flows: Vec<FlowSummary> = required,
        /// the links; the list may be empty
        links: Vec<LinkSummary> = required,
        /// the changes of capacity
        spikes: Vec<SpikeSummary>,
        /// only of a live run: its timing
        live: Option<LiveSummary> = absent,
        /// only of `sojourn send`: the two ends of the transfer
        transfer: Option<TransferSummary> = absent,
    }

    /// One flow of one run. Figures of a flow with random arrivals are sums over its transfers, and its
    /// round-trip times are those of all of them.
    "summary.json: runs[].flows[]" FlowSummary {
        /// its name
        name: String = required,
        /// its controller; `none` for datagrams
        control: String = required,
        /// the host at both ends (`sojourn hosts`), `A to B` if these differ, or the real QUIC stack;
        /// absent for datagrams, pings, media and live hosts
        host: Option<String> = absent,
        /// when it started in this run, its draw of `start_jitter` included
        start_s: f64,
        /// payload delivered, each byte once, over its time from `start_s` (or from `measured_from_s`,
        /// if that is later) to stop, completion or the end; 0 if it ended in the warm-up
        goodput_bps: f64,
        /// propagation delay out and back, at the start
        base_rtt_s: f64,
        /// of all samples of the round-trip time; of pings, from request to reply
        rtt_min_s: Option<f64>,
        rtt_p50_s: Option<f64>,
        rtt_p99_s: Option<f64>,
        rtt_max_s: Option<f64>,
        rtt_mean_s: Option<f64>,
        /// share of its samples with data in flight before which it measured no round trip for longer
        /// than the last one took, as in loss recovery: the figures above lack this time; null if its
        /// samples have none
        rtt_missing_share: Option<f64>,
        /// data packets sent, retransmissions included
        sent_packets: u64,
        /// retransmitted data packets
        retransmitted_packets: u64,
        /// of these, the ones that arrived after the segment that they repeat: by DSACK in TCP, by
        /// packet numbers in QUIC; one whose report was lost is not counted; null if the sender does not
        /// report it
        spurious_retransmissions: Option<u64>,
        /// window reductions that the sender undid, because packets were late and not lost; null likewise
        undone_reductions: Option<u64>,
        /// data packets that arrived with CE
        marked_packets: u64,
        /// data packets that a queue dropped or a wire lost
        dropped_packets: u64,
        /// retransmission timeouts of TCP, without its tail loss probes; probe timeouts of QUIC; null
        /// likewise
        timeouts: Option<u64>,
        /// time in which the receive window alone kept data from leaving (`tcpi_rwnd_limited`)
        rwnd_limited_s: Option<f64> = absent,
        /// from its start, including the handshake, until all data were delivered; null if it has no
        /// end or did not complete
        completion_s: Option<f64>,
        /// files or responses that were completed, pings that were answered
        completed_transfers: u64,
        /// from a request to the end of its response
        response_p50_s: Option<f64>,
        response_p99_s: Option<f64>,
        response_mean_s: Option<f64>,
        /// the reason, if a QUIC stack has ended the connection
        closed: Option<String> = absent,
        /// the damage to ECN for which the sender stopped its use: `bleached`, `rewritten`,
        /// `all_marked`, `lost` or `setup`
        ecn_failure: Option<&'static str> = absent,
        /// only of a flow that draws the sizes of its transfers (`sizes` of its `source`) or makes them
        /// in batches (`batch`): a class of sizes each
        transfers_by_size: Vec<SizeClass> = absent,
        /// only of a flow of media: the figures of its frames
        media: Option<MediaSummary> = absent,
    }

    /// The transfers of a class of sizes; all of them first, then each class that has any. The classes
    /// are up to 100 kB, up to 10 MB, and above. Percentiles are by nearest rank.
    "summary.json: runs[].flows[].transfers_by_size[]" SizeClass {
        /// the transfers have more bytes than `from_bytes`, and at most `to_bytes`; null for no limit
        from_bytes: u64 = required,
        to_bytes: Option<u64> = required,
        /// transfers that started, since the end of the warm-up
        started_transfers: u64 = required,
        /// those that were completed before the end
        completed_transfers: u64 = required,
        /// from the start of a transfer (the handshake of a random arrival, or the request of a
        /// response) until its last byte was delivered, of the completed transfers; null if there is
        /// none
        completion_p50_s: Option<f64> = required,
        completion_p95_s: Option<f64> = required,
        completion_p99_s: Option<f64> = required,
        completion_mean_s: Option<f64> = required,
        /// completion time over the least time on the empty path, which has the propagation delays
        /// after the start of the transfer, the handshake's round trip of a random arrival or the way
        /// of a request, the transmission of all packets at the mean capacity of the slowest link, and
        /// no slow start; 1 or more over links of constant capacity and delay
        slowdown_p50: Option<f64>,
        slowdown_p95: Option<f64>,
        slowdown_p99: Option<f64>,
        slowdown_mean: Option<f64>,
    }

    /// The frames of a flow of media, since the end of the warm-up. Delays are null without a frame.
    "summary.json: runs[].flows[].media" MediaSummary {
        /// frames that the encoder made
        frames: u64 = required,
        /// frames whose packets all arrived
        complete_frames: u64 = required,
        /// frames that were played
        played_frames: u64 = required,
        /// frames that were complete after their playout time
        late_frames: u64 = required,
        /// frames that refer to no other one
        key_frames: u64 = required,
        /// from the capture to the arrival of the last packet, of complete frames
        frame_delay_p50_s: Option<f64> = required,
        frame_delay_p95_s: Option<f64> = required,
        frame_delay_p99_s: Option<f64> = required,
        frame_delay_max_s: Option<f64> = required,
        frame_delay_mean_s: Option<f64> = required,
        /// from the capture to the playout, of played frames
        playout_delay_p50_s: Option<f64> = required,
        playout_delay_p95_s: Option<f64> = required,
        playout_delay_p99_s: Option<f64> = required,
        playout_delay_max_s: Option<f64> = required,
        playout_delay_mean_s: Option<f64> = required,
        /// mean of the least delays: the propagation of the path, and the transmission of the frame
        /// alone at the capacity of that time
        least_frame_delay_mean_s: Option<f64> = required,
        /// share of the frames' delay above the least
        avoidable_share: Option<f64> = required,
        /// intervals between two played frames of at least three mean intervals, and of the mean plus
        /// 150 ms (W3C, Identifiers for WebRTC's Statistics API, `freezeCount`); a pause of the source
        /// does not count
        freezes: u64 = required,
        /// duration of these intervals
        frozen_s: f64 = required,
        /// rate of the encoder's frames
        media_bps: f64 = required,
        /// rate of the played frames
        played_bps: f64 = required,
        /// estimated quality from 1 to 5. Video: the mean over all seconds of ITU-T P.1203.1 (10/2017)
        /// mode 0 for the frames played in each, for H.264 at the resolution of the source; a second
        /// without a frame has the score 1, the seconds of a pause have none, and the delay does not
        /// count. Voice: the E-model, ITU-T G.107, for G.711 with the mean playout delay and the share
        /// of frames that were not played
        quality_mos: Option<f64> = required,
        /// the model of that estimate
        quality_model: String = required,
    }

    /// One link of one run.
    "summary.json: runs[].links[]" LinkSummary {
        /// its name
        name: String = required,
        /// share of the capacity that was used; null for a link without a rate
        utilisation: Option<f64>,
        /// mean capacity, the rate of the shaper if the link has one; null for a link without a rate
        capacity_bps: Option<f64>,
        /// percentiles of the time that packets waited in its queue
        queue_delay_p50_s: Option<f64>,
        queue_delay_p99_s: Option<f64>,
        /// the longest; packets that still wait at the end count as if sent at the last rate
        queue_delay_max_s: Option<f64>,
        /// packets that came in
        arrived_packets: u64,
        /// packets that came out, copies included
        delivered_packets: u64,
        /// packets that its queue dropped or its wire lost
        dropped_packets: u64,
        /// packets that its queue marked CE
        marked_packets: u64,
        /// copies that its wire made
        duplicated_packets: u64,
        /// packets that arrived after a packet sent later (RFC 4737 section 3.3)
        reordered_packets: u64,
        /// a reason to doubt the link's delays: a threshold of its queue within the grid of its trace
        warning: Option<String> = absent,
    }

    /// One change of a link's capacity, and the queueing delay that followed. A step and a ramp are a
    /// change each. The capacity of a trace is averaged over intervals of 200 ms; a change leads from
    /// one turning point to the next, over a factor of two or more.
    "summary.json: runs[].spikes[]" SpikeSummary {
        /// the link
        link: String = required,
        /// when its capacity changed; a ramp: began to
        at_s: f64 = required,
        /// when the change was complete: later than `at_s` for a ramp or a trace
        complete_at_s: f64,
        /// capacity before
        from_bps: f64 = required,
        /// capacity after
        to_bps: f64 = required,
        /// peak queueing delay after it, of the packets that wait at the change (from the change on)
        /// and of those that arrive until the next change, and at most `record.spike_window` (5 s)
        /// after the end of this one or a loop delay, if that is longer; null if there were none
        spike_s: Option<f64>,
        /// least spike possible for the rate that the link carried in the loop delay before the change
        /// (`carried_loop_bps`); null if capacity goes to zero and stays there
        bound_s: Option<f64>,
        /// share of the excess traffic that exceeds the link's buffer; the bound is for the rest
        bound_lost_fraction: f64,
        /// spike minus bound; negative if the queue dropped packets that would have waited, or senders
        /// slowed before they could know of the change; null for a rise, which builds up no queue
        excess_s: Option<f64>,
        /// from the change until the queueing delay stays at or below the greater of the
        /// bound and the 95th percentile of up to 10 s before (since the change before and
        /// `measure.from`), within 1 ms or two packets, to the next change or the end; null if it does
        /// not
        recovery_s: Option<f64>,
        /// when the packet that met the peak left the queue
        peak_at_s: f64,
        /// mean queueing delay in the second before
        queue_delay_before_s: f64,
        /// mean rate in the second before
        carried_before_bps: f64,
        /// the greatest loop delay of the flows over the link, or the time since the last change if
        /// that is shorter
        loop_s: f64,
        /// mean rate that the link carried in `loop_s` before the change
        carried_loop_bps: f64,
        /// mean arrival rate at the link in the loop delay after the change, before any sender could
        /// know of it; null if the next change or the end comes first
        offered_loop_bps: Option<f64>,
        /// packets that the queue dropped from the change until the peak
        dropped_to_peak_packets: u64,
        /// share of the capacity used since the change before
        utilisation_before: Option<f64>,
        /// share of the capacity used until the next change
        utilisation_after: Option<f64>,
    }
}
