//! The observation of iperf3's JSON: `--json`, or `--json-stream` with one event a line.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{count, ns, number};
use super::polled::{Poll, Polled};
use super::{Damage, Flow, Kind, Observation, Vantage};

/// Streams that are observed; iperf3 has 128 at most.
const MOST_STREAMS: usize = 128;

/// A stream with the counters that iperf3 writes as differences.
struct Stream {
    polled: Polled,
    poll: Poll,
    is_sender: bool,
}

#[derive(Default)]
struct Test {
    start: Value,
    streams: BTreeMap<u64, Stream>,
    controller: Option<String>,
    has_rtt: bool,
    intervals: u64,
    is_udp: bool,
}

/// Reads a whole text. Of a cut stream of events, those before the cut count.
pub(super) fn read(text: &str) -> Observation {
    let mut test = Test::default();
    let damage = match serde_json::from_str::<Value>(text) {
        Ok(whole) => {
            test.whole(&whole);
            whole["error"]
                .as_str()
                .map(|error| damage(text.len(), &format!("iperf3 says: {error}")))
        }
        Err(error) => test
            .lines(text)
            .then_some(())
            .map_or_else(|| Some(damage(text.len(), &format!("not JSON: {error}"))), |()| None),
    };
    let mut found = test.finish();
    found.damage = damage;
    found
}

fn damage(offset: usize, message: &str) -> Damage {
    Damage { offset: offset as u64, message: message.to_owned() }
}

impl Test {
    fn whole(&mut self, whole: &Value) {
        self.begin(&whole["start"]);
        for interval in whole["intervals"].as_array().into_iter().flatten() {
            self.interval(interval);
        }
        self.end(&whole["end"]);
    }

    /// Takes events, one a line; returns whether all of them were whole.
    fn lines(&mut self, text: &str) -> bool {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let Ok(event) = serde_json::from_str::<Value>(line) else { return false };
            let data = &event["data"];
            match event["event"].as_str() {
                Some("start") => self.begin(data),
                Some("interval") => self.interval(data),
                Some("end") => self.end(data),
                _ => {}
            }
        }
        true
    }

    fn begin(&mut self, start: &Value) {
        self.start = start.clone();
        self.is_udp = start["test_start"]["protocol"] == "UDP";
    }

    fn end(&mut self, end: &Value) {
        let name = |key: &str| end[key].as_str().map(str::to_owned);
        self.controller = name("sender_tcp_congestion").or(self.controller.take());
    }

    fn interval(&mut self, interval: &Value) {
        self.intervals += 1;
        for stream in interval["streams"].as_array().into_iter().flatten() {
            // The seconds of `--omit` restart the clock.
            if stream["omitted"] != true {
                self.stream(stream);
            }
        }
    }

    fn stream(&mut self, data: &Value) {
        let Some(socket) = count(&data["socket"]) else { return };
        let (Some(begin), Some(end)) = (time(&data["start"]), time(&data["end"])) else { return };
        if !self.streams.contains_key(&socket) && self.streams.len() >= MOST_STREAMS {
            return;
        }
        let mss = count(&self.start["tcp_mss_default"]).map(|mss| mss as u32);
        let is_sender = data["sender"] != false;
        let own = self.streams.entry(socket).or_insert_with(|| {
            let mut polled = Polled::new(mss);
            let poll = Poll { at: begin, ..Poll::default() };
            polled.poll(&poll);
            Stream { polled, poll, is_sender }
        });
        // Microseconds, smoothed, as of TCP_INFO.
        let rtt = count(&data["rtt"]).filter(|us| *us > 0 && *us < 1 << 32);
        self.has_rtt |= rtt.is_some();
        let lost = count(&data["retransmits"]).or_else(|| count(&data["lost_packets"]));
        own.poll = Poll {
            at: end,
            delivered: own.poll.delivered.saturating_add(count(&data["bytes"]).unwrap_or(0)),
            rtt: rtt.map(|us| us as i64 * 1000),
            lost: own.poll.lost.saturating_add(lost.unwrap_or(0)),
            ..own.poll
        };
        own.polled.poll(&own.poll);
    }

    fn finish(self) -> Observation {
        let mut found = Observation::new(Kind::Iperf3);
        found.packets = self.intervals;
        found.duration = self.streams.values().map(|one| one.polled.end()).max().unwrap_or(0);
        found.begin_ns = time(&self.start["timestamp"]["timesecs"]);
        if self.is_udp {
            found.lacks.push("the test is of UDP, which has no round-trip times in iperf3");
        } else if !self.has_rtt {
            found.lacks.push(
                "the log has no round-trip times: iperf3 writes them at the sender of the data",
            );
        }
        let connected = self.start["connected"].as_array().cloned().unwrap_or_default();
        for (socket, stream) in self.streams {
            let own = connected.iter().find(|one| count(&one["socket"]) == Some(socket));
            let end = |host: &str, port: &str| end_of(own.unwrap_or(&Value::Null), host, port);
            let local = end("local_host", "local_port").unwrap_or(format!("stream {socket}"));
            let remote = end("remote_host", "remote_port").unwrap_or("the other end".to_owned());
            let (ends, vantage) = match stream.is_sender {
                true => ([local, remote], Vantage::Sender),
                false => ([remote, local], Vantage::Receiver),
            };
            let flow = stream.polled.finish(ends, vantage);
            let controller = self.controller.clone();
            found.flows.extend(flow.map(|flow| Flow { controller, ..flow }));
        }
        found
    }
}

fn time(value: &Value) -> Option<i64> {
    number(value).filter(|seconds| *seconds >= 0.0).and_then(ns)
}

fn end_of(connected: &Value, host: &str, port: &str) -> Option<String> {
    let (host, port) = (connected[host].as_str()?, count(&connected[port])?);
    Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}
