//! Writes a capture of any length to standard output, to measure how fast and in
//! how much memory captures are read:
//!
//! ```text
//! cargo run --release -p sojourn-trace --example long_capture -- PACKETS FLOWS > long.pcap
//! ```
//!
//! A classic capture with time in ns, of flows with timestamps in turn: two
//! segments of 1448 bytes, and the acknowledgement of both 20 ms later, while the
//! other flows go on. Packets are cut off behind their headers, as captures of
//! busy links are.

use std::io::{self, BufWriter, Write};

/// 10 Gbit/s in packets of 1500 bytes.
const GAP_NS: u64 = 1_200;
const PAYLOAD: u32 = 1_448;
const RTT_NS: u64 = 20_000_000;

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let (Some(Ok(packets)), Some(Ok(flows @ 1..))) = (numbers.next(), numbers.next()) else {
        eprintln!("usage: long_capture PACKETS FLOWS");
        std::process::exit(2);
    };
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    out.write_all(&header())?;
    // Acknowledgements follow their data by whole rounds of three packets.
    let behind = RTT_NS / (3 * GAP_NS);
    for round in 0..packets / 3 {
        let at = round * 3 * GAP_NS;
        for half in 0..2 {
            out.write_all(&packet(at + half * GAP_NS, round, flows, half))?;
        }
        if let Some(answered) = round.checked_sub(behind) {
            out.write_all(&packet(at + 2 * GAP_NS, answered, flows, 2))?;
        }
    }
    out.flush()
}

fn header() -> Vec<u8> {
    let mut bytes = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    bytes.extend([2, 0, 4, 0]);
    [0_u32, 0, 66, 1].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes
}

/// The record of part 0 or 1 (data) or 2 (their acknowledgement) of a round.
fn packet(at_ns: u64, round: u64, flows: u64, part: u64) -> Vec<u8> {
    let (flow, turn) = (round % flows, (round / flows) as u32);
    let answer = part == 2;
    let payload = if answer { 0 } else { PAYLOAD };
    let mut bytes = Vec::with_capacity(96);
    let times = [(at_ns / 1_000_000_000) as u32, (at_ns % 1_000_000_000) as u32];
    times.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    [66, 66 + payload].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes.extend([2; 12]);
    bytes.extend([8, 0, 0x45, 0]);
    bytes.extend((52 + payload as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    let client = (0x0a00_0000 + flow as u32 / 50_000).to_be_bytes();
    let server = [192, 0, 2, 1];
    let port = (1_024 + flow % 50_000) as u16;
    bytes.extend(if answer { [server, client] } else { [client, server] }.as_flattened());
    let ports = if answer { [443, port] } else { [port, 443] };
    ports.iter().for_each(|port| bytes.extend(port.to_be_bytes()));
    let sent = turn.wrapping_mul(2 * PAYLOAD);
    let (seq, ack) = match part {
        2 => (1, sent.wrapping_add(2 * PAYLOAD)),
        _ => (sent.wrapping_add(part as u32 * PAYLOAD), 1),
    };
    bytes.extend([seq, ack].map(u32::to_be_bytes).as_flattened());
    bytes.extend([0x80, 0x10, 0xff, 0xff, 0, 0, 0, 0, 1, 1, 8, 10]);
    // A tick a ms; the answer echoes that of its data.
    let tick = |ns: u64| (ns / 1_000_000) as u32 + 1;
    let sent_at = round * 3 * GAP_NS;
    let stamps = if answer { [tick(at_ns), tick(sent_at)] } else { [tick(sent_at), 1] };
    bytes.extend(stamps.map(u32::to_be_bytes).as_flattened());
    bytes
}
