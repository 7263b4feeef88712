//! Both formats in all their variants, and errors in other files.

use sojourn_trace::capture::{Capture, Format, ReadError};

use super::made::{block, enhanced, half_word, interface, option, pcap, section, word};

/// Time, link type, original length, data of all packets; and the error.
type Packets = Vec<(Option<i64>, u16, u32, Vec<u8>)>;

fn read(file: &[u8]) -> (Packets, Option<String>) {
    let mut capture = Capture::new(file);
    let mut packets = Vec::new();
    loop {
        match capture.next() {
            Ok(Some(packet)) => {
                let data = packet.data.to_vec();
                packets.push((packet.at_ns, packet.link, packet.original_len, data));
            }
            Ok(None) => return (packets, None),
            Err(error) => return (packets, Some(error.to_string())),
        }
    }
}

fn error(file: &[u8]) -> String {
    read(file).1.expect("an error")
}

const AT: u64 = 1_700_000_000_123_456_789;

#[test]
fn classic_captures_of_every_kind() {
    for big in [false, true] {
        for nano in [false, true] {
            let file = pcap(big, nano, 276, &[(AT, vec![1, 2, 3]), (AT + 1_000, vec![])]);
            let at = if nano { AT } else { AT / 1_000 * 1_000 } as i64;
            let packets =
                vec![(Some(at), 276, 3, vec![1, 2, 3]), (Some(at + 1_000), 276, 0, vec![])];
            assert_eq!(read(&file), (packets, None), "{big} {nano}");
        }
    }
}

#[test]
fn the_upper_half_of_the_link_type_is_another_matter() {
    // 4 bytes of frame check sequence, encoded in the upper bits.
    let file = pcap(false, true, 0x2400_0001, &[(5, vec![9])]);
    assert_eq!(read(&file).0, [(Some(5), 1, 1, vec![9])]);
}

fn old_packet(big: bool, interface: u16, ticks: u64, data: &[u8]) -> Vec<u8> {
    let len = data.len() as u32;
    let mut body = [half_word(big, interface), half_word(big, 3)].concat();
    let words = [(ticks >> 32) as u32, ticks as u32, len, len];
    words.iter().for_each(|value| body.extend(word(big, *value)));
    body.extend(data);
    block(big, 2, &body)
}

fn simple(big: bool, original: u32, data: &[u8]) -> Vec<u8> {
    block(big, 3, &[&word(big, original)[..], data].concat())
}

/// Two sections in different byte orders, two interfaces with separate clocks, and every
/// type of block.
#[test]
fn sections_interfaces_and_blocks() {
    let mut file = Vec::new();
    for big in [false, true] {
        let nanos = [option(big, 9, &[9]), option(big, 2, b"eth0"), option(big, 0, &[])].concat();
        let offset = if big { 100_i64.to_be_bytes() } else { 100_i64.to_le_bytes() };
        let binary = [option(big, 9, &[0x80 | 10]), option(big, 14, &offset)].concat();
        file.extend(section(big));
        file.extend(interface(big, 1, 0, &nanos));
        file.extend(block(big, 4, b"names that are of no use"));
        file.extend(interface(big, 101, 0, &binary));
        file.extend(enhanced(big, 0, AT, 1500, &[1, 2, 3, 4, 5]));
        file.extend(enhanced(big, 1, 1024 + 512, 4, &[6, 7, 8, 9]));
        file.extend(block(big, 0x8000_0bad, &[7; 4000]));
        file.extend(old_packet(big, 1, 2048, &[4]));
        file.extend(simple(big, 3, &[1, 1, 2]));
    }
    let one = vec![
        (Some(AT as i64), 1, 1500, vec![1, 2, 3, 4, 5]),
        (Some(101_500_000_000), 101, 4, vec![6, 7, 8, 9]),
        (Some(102_000_000_000), 101, 1, vec![4]),
        (None, 1, 3, vec![1, 1, 2]),
    ];
    assert_eq!(read(&file), ([one.clone(), one].concat(), None));
    let mut capture = Capture::new(&file[..]);
    assert_eq!(capture.format(), None);
    capture.next().unwrap();
    assert_eq!(capture.format(), Some(Format::Pcapng));
}

#[test]
fn a_simple_packet_is_cut_off_at_the_snap_length() {
    let file = [section(false), interface(false, 1, 4, &[]), simple(false, 90, &[1, 2, 3, 4])];
    assert_eq!(read(&file.concat()).0, [(None, 1, 90, vec![1, 2, 3, 4])]);
}

/// A block larger than the buffer, which is skipped.
#[test]
fn huge_unknown_blocks_are_passed_over() {
    let body = vec![0; 3 << 20];
    let packet = enhanced(false, 0, 7, 1, &[1]);
    let file = [section(false), interface(false, 1, 0, &[]), block(false, 99, &body), packet];
    assert_eq!(read(&file.concat()), (vec![(Some(7_000), 1, 1, vec![1])], None));
}

#[test]
fn what_is_no_capture_is_told() {
    assert_eq!(error(b""), "at byte 0: the file is empty");
    assert_eq!(error(b"ab"), "at byte 0: the file is too short for a capture");
    let text = "at byte 0: the file is no pcap or pcapng capture: it begins with ";
    assert_eq!(error(b"{\"qlog\": 1}"), format!("{text}7b22716c"));
    assert_eq!(error(b"\xfd7zXZ\0"), format!("{text}fd377a58 (xz: unpack it first)"));
    for (begin, program) in [("BZh9", "bzip2"), ("\x04\"M\x18", "lz4"), ("PK\x03\x04", "zip")] {
        let bytes: Vec<u8> = begin.chars().map(|byte| byte as u8).collect();
        assert!(error(&bytes).ends_with(&format!("({program}: unpack it first)")), "{program}");
    }
    assert!(error(&[0x34, 0xcd, 0xb2, 0xa1, 0, 0]).contains("editcap"));
    let mut version = pcap(false, true, 1, &[]);
    version[4] = 1;
    assert_eq!(error(&version), "at byte 0: the pcap file has version 1.4; only 2.x is known");
}

#[test]
fn lengths_that_lie_are_told_with_their_place() {
    let good = pcap(false, true, 1, &[(1, vec![1; 20])]);
    let record = |len: u32| {
        [good.clone(), [[0; 8], [len.to_le_bytes(); 2].concat().try_into().unwrap()].concat()]
            .concat()
    };
    let (packets, said) = read(&record(0xffff_fff0));
    assert_eq!(packets.len(), 1);
    assert_eq!(
        said.unwrap(),
        "at byte 60: a packet has 4294967280 captured bytes; more than 1048576 are not believed"
    );
    assert_eq!(
        read(&record(9)).1.unwrap(),
        "at byte 60: the file ends 16 bytes into a record of 25"
    );

    let begin = [section(false), interface(false, 1, 0, &[])].concat();
    let after = |bytes: &[u8]| error(&[&begin[..], bytes].concat());
    let lying =
        |kind: u32, len: u32| after(&[word(false, kind), word(false, len), [0; 4]].concat());
    assert_eq!(
        lying(6, 0),
        "at byte 48: block type 0x6 has length 0; it must be a multiple of 4, 32 or more"
    );
    assert!(lying(0x77, 0).contains("multiple of 4, 12 or more"));
    assert!(lying(0x77, 13).contains("length 13"));
    assert_eq!(lying(0x77, 400), "at byte 48: the file ends 12 bytes into a block of 400");
    assert!(lying(0x77, 0xffff_fffc).contains("12 bytes into a block of 4294967292"));
    assert!(lying(6, 0xffff_fffc).contains("more than 1114112 are not believed"));

    let mut end = block(false, 0x77, &[0; 8]);
    end[16] = 24;
    assert_eq!(after(&end), "at byte 48: block type 0x77 begins with length 20 and ends with 24");
    let mut inside = enhanced(false, 0, 1, 8, &[0; 8]);
    inside[20] = 9;
    assert_eq!(
        after(&inside),
        "at byte 48: a packet has 9 captured bytes in a block with room for 8"
    );
    assert_eq!(
        after(&enhanced(false, 3, 1, 8, &[0; 8])),
        "at byte 48: a packet is of interface 3, but the section describes 1"
    );
    assert_eq!(
        after(&enhanced(false, 0, u64::MAX, 8, &[0; 8])),
        "at byte 48: a packet's time is before the year 1678 or after 2262"
    );
    let mut order = section(false);
    order[8] = 0;
    assert!(after(&order).contains("0x003c2b1a for its byte-order magic"));
    let mut version = section(false);
    version[12] = 2;
    assert!(after(&version).contains("a pcapng section has version 2.0; only 1.x is known"));
}

#[test]
fn interfaces_are_bounded() {
    let begin = [section(false), interface(false, 1, 0, &[]).repeat(65_537)].concat();
    assert_eq!(error(&begin), "at byte 1310748: a section describes more than 65536 interfaces");
}

/// An I/O error is reported as such, not as a malformed file.
#[test]
fn a_failing_disk_is_no_malformed_file() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no such luck"))
        }
    }
    assert!(matches!(Capture::new(Failing).next(), Err(ReadError::Io(_))));
}
