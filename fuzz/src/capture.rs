//! Captures and their RTTs.

use std::io::{self, Read};

use sojourn_trace::capture::{Capture, ReadError};
use sojourn_trace::rtt::{Flow, Method, Options, Rtt};

use crate::heap;

/// Limits on the points of a series and on flows, low enough that inputs reach both.
const OPTIONS: Options = Options { max_flows: 8, points: 16 };
const METHODS: [Method; 4] = [Method::Timestamps, Method::Acks, Method::Sack, Method::Auto];
/// Other memory: a block of up to 1.06 MiB, read 256 KiB at a time, and a histogram for each flow,
/// direction and method.
const FIXED_BYTES: u64 = 8 << 20;

/// Reads the capture in `data`. Errors have an offset in it, and each flow's samples are consistent
/// with each other and with its packets.
pub(crate) fn check(data: &[u8]) {
    let file_bytes = data.len() as u64;
    // A compressed file may grow a thousandfold, but not in memory.
    let (rtt, read, fault) = heap::within(FIXED_BYTES + 64 * file_bytes, || analyse(data));
    // A record has 16 bytes or more.
    assert!(rtt.packets() <= read.bytes / 16);
    assert!(read.is_compressed || read.bytes <= file_bytes, "beyond the file: {}", read.bytes);
    let in_pieces = analyse(Pieces(data));
    assert_eq!(in_pieces.2.is_some(), fault.is_some());
    // The place of damage in compressed data depends on the pieces.
    if !read.is_compressed || fault.is_none() {
        assert_eq!((in_pieces.0.packets(), &in_pieces.2), (rtt.packets(), &fault));
    }
    if let Some(offset) = fault {
        assert!(offset <= read.bytes, "beyond the content: {offset}");
    }
    if let Some((begin, end)) = rtt.span_ns() {
        assert!(begin <= end);
    }
    assert!(rtt.flows().len() <= OPTIONS.max_flows);
    rtt.flows().iter().for_each(|flow| sound(flow, rtt.packets()));
}

/// The part of a capture that was read.
struct Content {
    /// Bytes, unpacked.
    bytes: u64,
    is_compressed: bool,
}

/// The RTTs, what was read, and the offset of the error that ended it.
fn analyse(from: impl Read) -> (Rtt, Content, Option<u64>) {
    let (mut capture, mut rtt) = (Capture::new(from), Rtt::new(OPTIONS));
    let fault = match rtt.read(&mut capture, u64::MAX) {
        Ok(_) => None,
        Err(ReadError::Malformed(fault)) => {
            assert!(fault.to_string().starts_with("at byte "));
            Some(fault.offset)
        }
        Err(ReadError::Io(error)) => panic!("memory can be read: {error}"),
    };
    let is_compressed = capture.compression().is_some();
    (rtt, Content { bytes: capture.offset(), is_compressed }, fault)
}

fn sound(flow: &Flow, packets: u64) {
    for (from, method) in [0, 1].into_iter().flat_map(|from| METHODS.map(|method| (from, method))) {
        let share = flow.unsampled_share(from, method);
        assert!(share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{share:?}");
        assert!(flow.goodput_bps(from).is_none_or(|goodput| goodput >= 0.0));
    }
    assert!(flow.span_ns.0 <= flow.span_ns.1);
    assert!(flow.halves.iter().map(|half| half.packets).sum::<u64>() <= packets);
    for half in &flow.halves {
        assert!(half.again <= half.packets);
        for method in METHODS {
            let (_, samples) = half.samples(method);
            let (histogram, points) = (samples.histogram(), samples.points());
            assert_eq!(half.count(method), samples.count());
            assert!(histogram.count() == samples.count() && samples.count() <= packets);
            assert!(points.len() <= OPTIONS.points && points.len() as u64 <= samples.count());
            assert_eq!(points.is_empty(), samples.count() == 0);
            assert!(points.is_sorted_by_key(|point| point.packet));
            let quantiles = [0.0, 0.5, 0.95, 0.99, 1.0].map(|q| histogram.quantile(q));
            assert!(quantiles.is_sorted(), "{quantiles:?}");
            let greatest = points.iter().map(|point| point.rtt_ns).max();
            assert_eq!(greatest, histogram.max(), "no peak is thinned away");
        }
    }
}

/// A reader that returns few bytes at a time, and fewer than requested.
#[derive(Clone)]
pub(crate) struct Pieces<'a>(pub(crate) &'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let len = self.0.len().min(into.len()).min(1021);
        let (now, later) = self.0.split_at(len);
        into[..len].copy_from_slice(now);
        self.0 = later;
        Ok(len)
    }
}
