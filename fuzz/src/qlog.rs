//! qlog files, their figures and samples.

use std::io::Read;

use sojourn_trace::qlog::{Damage, Figures, Limits, read};

use crate::capture::Pieces;
use crate::heap;

/// Limits that inputs reach.
const LIMITS: Limits = Limits { text: 1 << 17, memory: 1 << 21 };
/// Other memory: buffers, and the window that a frame of zstd may declare.
const FIXED_BYTES: u64 = 128 << 20;

/// Reads the qlog in `data`. Damage has its place in it, and the figures are consistent.
pub(crate) fn check(data: &[u8]) {
    let room = FIXED_BYTES + 128 * data.len() as u64;
    let (damage, figures) = heap::within(room, || analyse(data));
    let is_packed = data.starts_with(&[0x1f, 0x8b]) || data.starts_with(&[0x28, 0xb5]);
    // The pieces in which a file is read have no effect, except on how far a decoder comes in
    // damaged data.
    let in_pieces = analyse(Pieces(data));
    assert_eq!(in_pieces.0.is_some(), damage.is_some());
    if !is_packed || damage.is_none() {
        let found = format!("{damage:?} {figures:?}");
        assert_eq!(found, format!("{:?} {:?}", in_pieces.0, in_pieces.1));
    }
    if let Some(damage) = damage {
        assert!(is_packed || damage.at_byte <= data.len() as u64, "{damage}");
        let before = &data[..data.len().min(damage.at_byte as usize)];
        let lines = before.iter().filter(|byte| **byte == b'\n').count() as u64;
        assert!(is_packed || damage.line == lines + 1, "{damage}");
    }
    assert!(figures.duration_s.is_finite() && figures.duration_s >= 0.0);
    for flow in &figures.flows {
        assert!(flow.rtts_s.is_sorted() && flow.rtts_s.iter().all(|rtt| *rtt >= 0.0), "{flow:?}");
        assert!(flow.retransmitted_packets <= flow.sent_packets, "{flow:?}");
        assert!(flow.goodput_bps.is_none_or(f64::is_finite), "{flow:?}");
    }
    figures.samples.to_parquet(&[]).expect("the columns have one length");
}

fn analyse(from: impl Read + Clone) -> (Option<Damage>, Figures) {
    let log = read("fuzz", || Ok(from.clone()), &LIMITS).expect("memory can be read");
    (log.damage.clone(), Figures::new(&[log], None))
}
