//! Compressed captures: the same packets as unpacked, and errors of damaged data.

use std::fs;
use std::io::{self, Read, Write};

use flate2::write::GzEncoder;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sojourn_trace::capture::{Capture, Compression, ReadError};

use super::made::{analysis, pcap};

const REAL: [&str; 2] = ["timestamps.pcapng", "no-timestamps.pcap"];

fn real(name: &str) -> Vec<u8> {
    fs::read(format!("{}/../../tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    compress_to_vec(data, CompressionLevel::Fastest)
}

type Pack = fn(&[u8]) -> Vec<u8>;

const BOTH: [(Compression, Pack); 2] = [(Compression::Gzip, gzip), (Compression::Zstd, zstd)];

/// A reader that returns few bytes at a time, and then fails, if it should.
struct Pieces<'a>(&'a [u8], bool);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() && self.1 {
            return Err(io::Error::other("no such luck"));
        }
        let len = into.len().min(3);
        self.0.read(&mut into[..len])
    }
}

/// Number and total length of the packets, bytes of the content, and the error.
fn read(from: impl Read) -> (u64, usize, u64, Option<ReadError>, Option<Compression>) {
    let mut capture = Capture::new(from);
    let (mut packets, mut bytes) = (0, 0);
    let error = loop {
        match capture.next() {
            Ok(Some(packet)) => (packets, bytes) = (packets + 1, bytes + packet.data.len()),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    (packets, bytes, capture.offset(), error, capture.compression())
}

fn malformed(error: Option<ReadError>) -> String {
    match error {
        Some(ReadError::Malformed(malformed)) => malformed.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn compressed_captures_have_the_same_packets() {
    for name in REAL {
        let plain = real(name);
        let (packets, bytes, offset, error, compression) = read(&plain[..]);
        assert!(error.is_none() && compression.is_none() && offset == plain.len() as u64);
        for (compression, pack) in BOTH {
            let (begin, end) = plain.split_at(plain.len() / 3);
            // Files of several parts: of `cat`, and of bgzip.
            for file in [pack(&plain), [pack(begin), pack(end)].concat()] {
                let sizes = |found: (u64, usize, u64, Option<ReadError>, Option<Compression>)| {
                    assert!(found.3.is_none(), "{:?}", found.3);
                    (found.0, found.1, found.2, found.4)
                };
                let same = (packets, bytes, offset, Some(compression));
                assert_eq!(sizes(read(&file[..])), same);
                assert_eq!(sizes(read(Pieces(&file, false))), same);
            }
        }
    }
}

#[test]
fn data_that_end_early_give_what_stood_before() {
    let plain = real(REAL[0]);
    for (compression, pack) in BOTH {
        let file = pack(&plain);
        for len in (4..file.len()).step_by(7) {
            let (packets, _, offset, error, _) = read(&file[..len]);
            let said = malformed(error);
            let name = compression.name();
            let fault = format!(
                "at byte {offset}: the {name} data of the file cannot be unpacked any further: \
                 they end early"
            );
            assert_eq!(said, fault, "{len}");
            let (before, ..) = read(&plain[..offset as usize]);
            assert_eq!(packets, before);
        }
    }
}

/// An error of the disk is none of the data.
#[test]
fn a_failing_disk_is_no_damage() {
    for (_, pack) in BOTH {
        let file = pack(&real(REAL[1]));
        let (.., error, _) = read(Pieces(&file[..file.len() / 2], true));
        assert!(matches!(error, Some(ReadError::Io(_))), "{error:?}");
    }
}

/// The checksums of both formats show damage that leaves the packets plausible.
#[test]
fn damage_is_told() {
    let mut file = gzip(&real(REAL[0]));
    let checksum = file.len() - 6;
    file[checksum] ^= 1;
    let (packets, .., error, _) = read(&file[..]);
    assert_eq!(packets, 207);
    assert!(malformed(error).contains("gzip data of the file cannot be unpacked"));
    let mut file = zstd(&real(REAL[0]));
    *file.last_mut().expect("it has a checksum") ^= 1;
    let (packets, .., error, _) = read(&file[..]);
    assert_eq!(packets, 207);
    assert!(malformed(error).contains("zstd data of the file cannot be unpacked"));
    let inner = gzip(&gzip(b"twice"));
    assert!(malformed(read(&inner[..]).3).contains("unpack it twice"));
}

/// A decoder drops what it has unpacked in the call that meets the damage: less than its window of
/// 32 KiB, and not a whole buffer of 256 KiB.
#[test]
fn damage_in_the_middle_loses_little() {
    let packets: Vec<_> = (0..6_000).map(|k| (k, vec![0; 100])).collect();
    let plain = pcap(false, true, 1, &packets);
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&plain).unwrap();
    encoder.flush().unwrap();
    let mut file = encoder.get_ref().clone();
    // RFC 1951 section 3.2.3: the last block, of a type that does not exist.
    file.push(0b111);
    let (packets, _, offset, error, _) = read(&file[..]);
    assert!(malformed(error).contains("gzip data"));
    assert!(offset + (1 << 15) >= plain.len() as u64, "{offset} of {}", plain.len());
    assert_eq!(packets, (offset - 24) / 116);
}

/// A window of 256 MiB would take as much memory.
#[test]
fn greater_windows_are_refused_with_the_remedy() {
    // RFC 8878 section 3.1.1: the magic number, no flags, the exponent of the window above 10, and a
    // last block of one byte.
    let file = [&[0x28, 0xb5, 0x2f, 0xfd, 0, (28 - 10) << 3][..], &[0b1001, 0, 0, 7]].concat();
    let said = malformed(read(&file[..]).3);
    assert!(said.contains("unpack the file with `zstd -d --long=31`"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn compressed_bytes_may_be_anything(
        kind in 0_usize..2, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let mut file = BOTH[kind].1(&real(REAL[kind]));
        for (place, byte) in flips {
            let at = place.index(file.len());
            file[at] = byte;
        }
        let (rtt, read) = analysis(&file);
        prop_assert!(!matches!(read, Err(ReadError::Io(_))), "{:?}", read);
        prop_assert!(rtt.packets() <= 300);
    }
}

/// RFC 8878 section 3.1.2: programs may write frames of their own, which others skip. pzstd begins
/// its files with one.
#[test]
fn skippable_frames_are_skipped() {
    let plain = real(REAL[0]);
    let own = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"own"].concat();
    let (begin, end) = plain.split_at(1_000);
    let file = [own.clone(), zstd(begin), own.clone(), zstd(end), own.clone()].concat();
    let (packets, .., error, _) = read(&file[..]);
    assert!(error.is_none() && packets == read(&plain[..]).0, "{error:?}");
    assert!(malformed(read(&file[..file.len() - 1]).3).contains("they end early"));
}

#[test]
fn a_frame_of_another_size_than_it_declares_is_damaged() {
    // RFC 8878 section 3.1.1: one segment, of a size in one byte, and a last block of one byte.
    let frame = |size: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, size][..], &[0b1001, 0, 0, 7]].concat();
    assert!(!malformed(read(&frame(1)[..]).3).contains("zstd data"));
    assert!(malformed(read(&frame(2)[..]).3).contains("a frame of 2 bytes has 1"));
}
