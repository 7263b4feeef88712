//! Files that try to exhaust time or memory.

use std::io::Read;

use serde_json::json;
use sojourn_trace::Column;
use sojourn_trace::qlog::{Fault, Figures, Limits, read};

use super::made::{ack, column, figures, lines, packet, stream};

/// A reader that returns one byte at a time.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let len = into.len().min(1);
        self.0.read(&mut into[..len])
    }
}

#[test]
fn a_file_is_the_same_however_it_is_read() {
    let events: Vec<_> =
        (0..50).map(|n| packet(n as f64, "sent", n, json!([stream(0, n, 2)]))).collect();
    let file = lines(&events);
    let slow = read("it", || Ok(Slow(&file)), &Limits::default()).unwrap();
    // As text, because NaN is not equal to itself.
    let slow = Figures::new(&[slow], None);
    assert_eq!(format!("{slow:?}"), format!("{:?}", figures(&file)));
}

/// A file of spaces without an end, of which memory holds only the limit.
#[test]
fn a_text_without_an_end_is_refused_where_it_begins() {
    for head in ["\u{1e}{\"trace\": {}}\n\u{1e}", "{\"traces\": [{\"title\": \"x\",\n"] {
        let endless = || Ok(head.as_bytes().chain(std::io::repeat(b' ')));
        let limits = Limits { text: 1 << 20, ..Limits::default() };
        let damage = read("it", endless, &limits).unwrap().damage.expect("it has no end");
        assert_eq!(damage.fault, Fault::TooLong { limit: 1 << 20 });
        assert_eq!(
            (damage.at_byte, damage.line),
            (head.trim_end().len() as u64, 2 - u64::from(head.contains("title")))
        );
    }
}

/// Packets without an outcome, RTTs, ranges with gaps, paths: all count as memory.
#[test]
fn memory_is_bounded_in_endless_files() {
    let limits = Limits { memory: 1 << 18, ..Limits::default() };
    let kinds: [fn(u64) -> String; 3] = [
        |n| packet(0.0, "sent", n, json!([stream(0, 2 * n, 1)])).to_string(),
        |n| packet(0.0, "received", n, json!([stream(n, 0, 1)])).to_string(),
        |n| {
            json!({ "time": n, "name": "metrics_updated", "data": { "latest_rtt": n } }).to_string()
        },
    ];
    for event in kinds {
        let file = Endless { event, next: 0, text: b"{\"trace\": {}}\n".to_vec(), at: 0 };
        let mut file = Some(file);
        let log = read("it", || Ok(file.take().unwrap()), &limits).unwrap();
        let damage = log.damage.expect("it has no end");
        assert_eq!(damage.fault, Fault::Memory { limit: 1 << 18 });
        assert!((1_000..100_000).contains(&damage.events), "{damage}");
        assert!(damage.to_string().ends_with("give a part of the file"), "{damage}");
    }
}

/// A sequence that never ends.
struct Endless {
    event: fn(u64) -> String,
    next: u64,
    text: Vec<u8>,
    at: usize,
}

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            self.text = ((self.event)(self.next) + "\n").into_bytes();
            (self.next, self.at) = (self.next + 1, 0);
        }
        let len = (&self.text[self.at..]).read(into)?;
        self.at += len;
        Ok(len)
    }
}

/// RFC 9002 section 6.1.1 declares a packet lost after 3 later ones; 2^16 later, its outcome is
/// forgotten, but until then a late acknowledgement counts.
#[test]
fn what_is_far_behind_the_acknowledged_is_forgotten() {
    for (newest, samples) in [(1_000, 2), ((1 << 16) - 1, 2), (1 << 16, 1)] {
        let acked = |at: f64, number: u64| packet(at, "received", 0, json!([ack(json!([number]))]));
        let found = figures(&lines(&[
            packet(0.0, "sent", 0, json!([stream(0, 0, 1)])),
            packet(1.0, "sent", newest, json!([stream(0, 1, 1)])),
            acked(20.0, newest),
            acked(40.0, 0),
        ]));
        assert_eq!(found.flows[0].rtts_s.len(), samples, "{newest}");
    }
}

/// Ranges of any length, and packets without an outcome, cost nothing at an acknowledgement: a
/// list that moves for each packet, or a scan of the range, takes minutes here.
#[test]
fn time_grows_with_the_length_alone() {
    let shapes: [fn(u64) -> (u64, u64); 3] =
        [|n| (200_000 - n, n), |n| (n * 7919 % 999_983, n), |n| (n, 2 * (200_000 - n))];
    for shape in shapes {
        let mut text = String::from("{\"trace\": {}}\n");
        for n in 0..50_000 {
            let (number, offset) = shape(n);
            let frames = json!([stream(0, offset, 1), ack(json!([[number, number + (1 << 40)]]))]);
            let way = if n % 50 == 49 { "received" } else { "sent" };
            text.push_str(&packet(n as f64 / 100.0, way, number, frames).to_string());
            text.push('\n');
        }
        let found = figures(text.as_bytes());
        assert_eq!(found.flows[0].sent_packets, 49_000);
    }
}

/// More bytes than a counter holds, each packet below the limit of one value.
#[test]
fn sums_that_no_counter_holds_are_unknown() {
    let sent =
        |id: u64| packet(1.0, "received", id, json!([stream(id, 0, 900_000_000_000_000_000)]));
    let found = figures(&lines(&(0..40).map(sent).collect::<Vec<_>>()));
    let Column::F64(delivered) = column(&found, "delivered_bytes") else { panic!("numbers") };
    assert!(delivered.last().is_some_and(|bytes| bytes.is_nan()));
}
