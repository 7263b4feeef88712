//! The acknowledgements that arrive at the senders of the kernel's TCP, by its tracepoint
//! `tcp_probe`.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as WallTime;

use sojourn_kernel::{AckRow, Probe};
use sojourn_record::Acknowledgement;
use sojourn_record::columns::Row;
use sojourn_scenario::Scenario;
use sojourn_trace::Table;

use crate::error::Error;
use crate::machine::sys::tcp_info::INFINITE;
use sojourn_udp::io::Clock;

/// Time between two looks at the kernel's buffer, which holds 116,000 rows.
const LOOK: WallTime = WallTime::from_millis(10);

/// The acknowledgements of a run, each with its sender's state before the kernel processed it.
pub struct Acks {
    /// The rows, with their flows.
    rows: Vec<(usize, AckRow)>,
    /// Time 0 of the run, in nanoseconds of CLOCK_MONOTONIC.
    origin_ns: i64,
    /// Names of the flows.
    names: Vec<String>,
    /// Acknowledgements for which the kernel's buffer had no room.
    pub missed: u64,
}

impl Acks {
    /// Collects the rows of the senders until the flows have ended.
    pub(crate) fn collect(
        probe: &Probe,
        scenario: &Scenario,
        clock: Clock,
        has_ended: &AtomicBool,
    ) -> Result<Acks, sojourn_kernel::Error> {
        let mut rows = Vec::new();
        let take = |row: AckRow| {
            // The numbers of hosts begin with 1 (`Side::of_flow`).
            let flow = usize::from(row.address).checked_sub(1);
            rows.extend(flow.filter(|flow| *flow < scenario.flows.len()).map(|flow| (flow, row)));
        };
        probe.follow(take, || {
            thread::sleep(LOOK);
            !has_ended.load(Ordering::Acquire)
        })?;
        let names = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        Ok(Acks { rows, origin_ns: clock.origin_ns(), names, missed: probe.missed()? })
    }

    /// Number of rows.
    pub fn count(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Writes the rows to `PREFIX.acks.parquet`, with the columns of a flow's series.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(
        &self,
        prefix: &str,
        control: &str,
        seed: u64,
        version: &str,
    ) -> Result<(), Error> {
        let file = format!("{prefix}.acks.parquet");
        let bytes = self.table(control, seed).to_parquet(&[("sojourn_version", version)]);
        let written = bytes.map_err(io::Error::other).and_then(|bytes| fs::write(&file, bytes));
        written.map_err(|error| Error::Capture { file, error })
    }

    fn table(&self, control: &str, seed: u64) -> Table {
        let entries = self.rows.iter().map(|(flow, _)| (control, seed, self.names[*flow].as_str()));
        let row = |(_, row): &(usize, AckRow)| Acknowledgement {
            t_s: (row.at_ns as i64 - self.origin_ns) as f64 / 1e9,
            cwnd_bytes: bytes(row, row.cwnd) as f64,
            ssthresh_bytes: (row.ssthresh < INFINITE)
                .then(|| bytes(row, row.ssthresh) as f64)
                .into(),
            srtt_s: (row.srtt_us > 0).then(|| f64::from(row.srtt_us) / 1e6).into(),
            pacing_bps: (row.pacing_rate < u64::MAX / 8)
                .then_some(row.pacing_rate as f64 * 8.0)
                .into(),
            in_flight_bytes: bytes(row, row.in_flight),
            acked_bytes: u64::from(row.acked),
            lost_packets: u64::from(row.lost),
            retransmitted_packets: u64::from(row.retransmitted),
            delivered_packets: u64::from(row.delivered),
            marked_packets: u64::from(row.delivered_ce),
        };
        Acknowledgement::table(entries, self.rows.iter().map(row))
    }
}

fn bytes(row: &AckRow, packets: u32) -> u64 {
    u64::from(packets) * u64::from(row.mss)
}
