//! Captures truncated at any byte, and captures with corrupted bytes: reading returns all
//! earlier packets and an error with its position, and terminates.

use std::fs;

use proptest::prelude::*;
use sojourn_trace::capture::ReadError;

use super::made::analysis;

const REAL: [&str; 4] = ["timestamps.pcapng", "no-timestamps.pcap", "ipv6.pcapng", "any-sll2.pcap"];

fn real(name: &str) -> Vec<u8> {
    fs::read(format!("{}/../../tests/captures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Reads a damaged capture to its end. Returns the number of packets.
fn survive(file: &[u8]) -> u64 {
    let (rtt, read) = analysis(file);
    if let Err(error) = read {
        let ReadError::Malformed(malformed) = error else { panic!("{error}") };
        assert!(malformed.offset <= file.len() as u64, "{malformed}");
    }
    // A packet takes at least 16 bytes of the file.
    assert!(rtt.packets() <= file.len() as u64 / 16);
    rtt.packets()
}

/// Truncation at every byte: all complete packets are read, and the error reports the start
/// of the truncated packet.
#[test]
fn a_capture_may_end_anywhere() {
    for name in REAL {
        let whole = real(name);
        let mut before = (0, 0);
        for len in (0..=whole.len()).filter(|len| *len < 3_000 || len % 7 == 0) {
            let (rtt, read) = analysis(&whole[..len]);
            match read {
                Ok(()) => before = (rtt.packets(), len),
                Err(ReadError::Malformed(malformed)) => {
                    assert!(malformed.offset <= len as u64);
                    assert!(malformed.offset >= before.1 as u64, "{name} {len}: {malformed}");
                    assert!(rtt.packets() >= before.0, "{name} {len}: {malformed}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        let complete = analysis(&whole);
        assert!(complete.1.is_ok() && complete.0.packets() >= before.0);
    }
}

fn which() -> impl Strategy<Value = Vec<u8>> {
    (0..REAL.len()).prop_map(|k| real(REAL[k]))
}

/// Plausible wrong lengths: small, huge, off by one.
fn lie() -> impl Strategy<Value = [u8; 4]> {
    prop_oneof![
        (0_u32..64).prop_map(u32::to_le_bytes),
        (0_u32..64).prop_map(|small| (u32::MAX - small).to_le_bytes()),
        any::<u32>().prop_map(u32::to_le_bytes),
        (0_u32..40).prop_map(u32::to_be_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn bytes_may_be_anything(mut file in which(),
                             flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        for (place, byte) in flips {
            let at = place.index(file.len());
            file[at] = byte;
        }
        survive(&file);
    }

    #[test]
    fn lengths_may_lie(mut file in which(), lies in prop::collection::vec((any::<prop::sample::Index>(), lie()), 1..6)) {
        for (place, bytes) in lies {
            // Every length field of both formats is at a multiple of four.
            let at = place.index(file.len() / 4 - 1) * 4;
            file[at..at + 4].copy_from_slice(&bytes);
        }
        survive(&file);
    }

    #[test]
    fn noise_behind_a_good_beginning(mut file in which(), keep in 4_usize..400, noise in prop::collection::vec(any::<u8>(), 0..4_000)) {
        file.truncate(keep);
        file.extend(noise);
        survive(&file);
    }
}
