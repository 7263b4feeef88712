//! qlog files, their figures and samples.

use std::io::Read;

use sojourn_trace::qlog::{Damage, Figures, Limits, read};

use crate::capture::Pieces;
use crate::heap;
use crate::mutate;
use crate::random::Random;

/// Limits that inputs reach.
const LIMITS: Limits = Limits { text: 1 << 17, memory: 1 << 21 };
/// Other memory: buffers, and the window that a frame of zstd may declare.
const FIXED_BYTES: u64 = 128 << 20;

/// Keys and names that the reader looks for.
const WORDS: &[&str] = &[
    "time",
    "relative_time",
    "delta_time",
    "name",
    "data",
    "trace",
    "traces",
    "events",
    "event_fields",
    "common_fields",
    "time_format",
    "time_units",
    "time_offset",
    "title",
    "header",
    "packet_type",
    "packet_number",
    "path_id",
    "tuple",
    "frames",
    "frame_type",
    "ack",
    "path_ack",
    "acked_ranges",
    "ce",
    "stream",
    "crypto",
    "datagram",
    "ping",
    "padding",
    "retry",
    "stream_id",
    "offset",
    "length",
    "raw",
    "congestion_window",
    "bytes_in_flight",
    "latest_rtt",
    "smoothed_rtt",
    "pto_count",
    "initial",
    "packet_sent",
    "packet_received",
    "packet_lost",
    "metrics_updated",
    "error_description",
];

/// Reads the qlog in `data`. Damage has its place in it, and the figures are consistent.
pub fn qlog(data: &[u8]) {
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

/// Mutates one text of a file: another value, a word that the reader knows, or the text's place.
/// `None` selects libFuzzer's own mutations.
pub fn mutate_qlog(data: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut random = Random::new(seed);
    let text = std::str::from_utf8(data).ok()?;
    let separator = if text.contains('\u{1e}') { "\u{1e}" } else { "\n" };
    let mut texts: Vec<String> = text.split(separator).map(str::to_owned).collect();
    let place = random.below(texts.len());
    match random.below(8) {
        0 => texts.insert(place, texts[random.below(texts.len())].clone()),
        1 => drop(texts.remove(place)),
        2..=4 => {
            let (old, new) = (*random.pick::<&str>(WORDS), *random.pick::<&str>(WORDS));
            texts[place] = texts[place].replacen(old, new, 1);
        }
        _ => {
            let value = serde_json::from_str(&texts[place]).ok()?;
            texts[place] = mutate::value(value, &mut random).to_string();
        }
    }
    Some(texts.join(separator).into_bytes())
}
