//! The rows of the Parquet files of a run directory.

use crate::columns::{Maybe, rows};

rows! {
    /// A sample of a flow. In the row of a flow with random arrivals, `cwnd_bytes` and the counts are
    /// sums over its transfers, `response_s` is the longest completion time, and columns of a single
    /// sender are null.
    "flows.parquet" FlowSample of flow {
        /// phase of its controller, such as `slow_start`; empty if it has no phases
        phase: &'static str,
        /// time since the start of the run; once for each flow of a run
        t_s: f64 = required,
        /// congestion window at that time; null if it has none
        cwnd_bytes: Maybe,
        /// slow-start threshold; null if it has none, or none yet
        ssthresh_bytes: Maybe,
        /// smoothed round-trip time; null before its first sample
        srtt_s: Maybe,
        /// longest round-trip time since the previous sample; null if no acknowledgement (for pings: no
        /// reply) came
        rtt_s: Maybe,
        /// the minimum round-trip time that its sender uses
        min_rtt_s: Maybe,
        /// pacing rate; the mean rate if the controller sets the gap of each packet and reports a rate;
        /// null if it is not paced
        pacing_bps: Maybe,
        /// payload delivered since the previous sample, over that time
        goodput_bps: Maybe,
        /// DCTCP's estimate of the share of marked packets; null for others
        alpha: Maybe,
        /// the controller's estimate of the bandwidth, or the rate that a controller of media wants;
        /// null if it keeps none
        bandwidth_bps: Maybe,
        /// longest time from a request to the end of its response, of those that ended since the
        /// previous sample; of media: longest time from the capture of a frame to the arrival of its
        /// last packet; null if none did
        response_s: Maybe,
        /// bytes in flight at that time
        in_flight_bytes: u64,
        /// payload delivered since the start, each byte once; never falls
        delivered_bytes: u64,
        /// packets that the sender declared lost, since the start
        lost_packets: u64,
        /// retransmitted data packets since the start
        retransmitted_packets: u64,
        /// data packets that arrived with CE, since the start
        marked_packets: u64,
    }

    /// A sample of a link.
    "links.parquet" LinkSample of link {
        /// time since the start of the run; once for each link of a run
        t_s: f64 = required,
        /// mean capacity since the previous sample; null for a link without a rate
        capacity_bps: Maybe,
        /// bytes sent since the previous sample, over that time
        carried_bps: Maybe,
        /// longest wait of the packets that left the queue since the previous sample; null if none
        /// left. Over a queue that serves flows separately, it is that of the flow that waits longest
        queue_delay_s: Maybe,
        /// their mean wait
        queue_delay_mean_s: Maybe,
        /// queue length at that time
        queue_bytes: u64,
        queue_packets: u64,
        /// packets that its queue dropped or its wire lost, since the start; never falls
        dropped_packets: u64,
        /// packets that its queue marked CE, since the start; never falls
        marked_packets: u64,
    }

    /// A transfer of a flow that draws the sizes of its transfers, or makes them in batches.
    "transfers.parquet" Transfer of flow {
        /// when the transfer started
        start_s: f64 = required,
        /// its size
        size_bytes: u64 = required,
        /// from its start until its last byte was delivered, as in `transfers_by_size`; null if it was
        /// incomplete at the end
        completion_s: Maybe,
        /// `completion_s` over the least time on the empty path; null likewise
        slowdown: Maybe,
    }

    /// A frame of a flow of media.
    "frames.parquet" Frame of flow {
        /// when the frame was captured
        captured_s: f64 = required,
        /// its size without headers
        size_bytes: u64 = required,
        /// 1 for a key frame, else 0
        key: u64,
        /// 1 if it was complete after its playout time, else 0
        late: u64,
        /// from its capture to the arrival of its last packet; null if it is incomplete
        delay_s: Maybe,
        /// the least possible delay, over its path without other traffic
        least_delay_s: Maybe,
        /// when it was played; null if it was not
        played_s: Maybe,
    }

    /// An acknowledgement at a sender of the kernel's TCP (`sojourn live --tcp-probe DIR`). The state is
    /// that before the kernel processes it.
    "CONTROL-SEED.acks.parquet" Acknowledgement of flow {
        /// time of arrival since the start of the run
        t_s: f64,
        /// congestion window
        cwnd_bytes: f64,
        /// slow-start threshold; null without one
        ssthresh_bytes: Maybe,
        /// smoothed round-trip time; null before its first sample
        srtt_s: Maybe,
        /// pacing rate; null without one
        pacing_bps: Maybe,
        /// bytes in flight
        in_flight_bytes: u64,
        /// bytes that it acknowledges for the first time; 0 for a duplicate
        acked_bytes: u64,
        /// packets deemed lost, so far
        lost_packets: u64,
        /// retransmitted packets, so far
        retransmitted_packets: u64,
        /// packets acknowledged, also selectively, so far
        delivered_packets: u64,
        /// packets acknowledged with marks, so far
        marked_packets: u64,
    }
}
