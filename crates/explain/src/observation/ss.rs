//! The observation of a log of `ss -ti`: the counters of the kernel's TCP_INFO, again and again.
//!
//! Times are lines of their own or before those of `ss`: a time since 1970, an ISO date, a time of day,
//! or one of these behind `Time:`, as Flent's `ss_iterate` writes. Without any, the counter `busy`, which
//! grows while a connection has data on the way, is the clock.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use super::half::Waits;
use super::polled::{Poll, Polled};
use super::{Damage, Flow, Kind, Observation, Vantage};

/// Connections that are observed.
const MOST_CONNECTIONS: usize = 1 << 10;
/// A longer line is none of `ss`.
const MOST_LINE: u64 = 1 << 16;
/// Longest time between a stamp and the kernel's answer, in s.
const JITTER_S: f64 = 0.25;
const DAY_S: f64 = 86_400.0;
/// Digits of a time since 1970 from the year 2001 to 2286 in s, ms, µs and ns, and the unit in s.
const EPOCHS: [(usize, f64); 4] = [(10, 1.0), (13, 1e-3), (16, 1e-6), (19, 1e-9)];

/// A connection at its sender.
struct Connection {
    polled: Polled,
    controller: Option<String>,
    /// The counter of delivered bytes at the first poll, and the time of that poll, in s.
    origin: Option<(u64, u64, f64)>,
    /// The least round-trip time that the kernel had, in ns.
    least: Option<i64>,
    delivered: u64,
    /// Time of the last poll, and the counter `busy` there, in s.
    clock: Option<(f64, f64)>,
    /// The counters of the first poll that has them.
    first: Option<Chrono>,
}

/// The kernel's times of a connection by their limit, in s (`tcp_chrono` of Linux 4.10 and newer).
#[derive(Clone, Copy)]
struct Chrono {
    at: f64,
    /// With data on the way, or waiting for one of both windows.
    busy: f64,
    /// Waiting for the receiver's window.
    receiver: f64,
    /// Waiting for room in the send buffer.
    buffer: f64,
}

impl Chrono {
    /// `ss` leaves out counters of zero.
    fn of(info: &Info<'_>, at: f64) -> Option<Chrono> {
        let seconds = |key: &str| info.number(key).map(|ms| ms / 1e3);
        Some(Chrono {
            at,
            busy: seconds("busy:")?,
            receiver: seconds("rwnd_limited:").unwrap_or(0.0),
            buffer: seconds("sndbuf_limited:").unwrap_or(0.0),
        })
    }

    /// Shares of the time since an earlier poll.
    fn since(&self, first: &Chrono) -> Option<Waits> {
        let time = self.at - first.at;
        let share = |a: f64, b: f64| ((b - a) / time).clamp(0.0, 1.0);
        let idle = 1.0 - share(first.busy, self.busy);
        (time > 0.0).then(|| Waits {
            receiver: share(first.receiver, self.receiver),
            sender: (share(first.buffer, self.buffer) + idle).min(1.0),
        })
    }
}

#[derive(Default)]
struct Log {
    connections: BTreeMap<[String; 2], Connection>,
    ends: Option<[String; 2]>,
    /// Time of the last stamp, in s.
    now: Option<f64>,
    begin: Option<f64>,
    polls: u64,
    is_by_busy: bool,
    without_time: u64,
}

/// Reads a log line by line.
///
/// # Errors
/// If it cannot be read.
pub(super) fn read(mut from: impl BufRead) -> io::Result<Observation> {
    let (mut log, mut line, mut offset) = (Log::default(), Vec::new(), 0);
    loop {
        line.clear();
        let read = io::Read::take(&mut from, MOST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(log.finish());
        }
        offset += read as u64;
        if line.last() != Some(&b'\n') && (read as u64) < MOST_LINE {
            // A number at the cut may lack its last digits.
            let message = format!("the last line has no end: the log is cut after {}", log.polls());
            let damage = Some(Damage { offset, message });
            return Ok(Observation { damage, ..log.finish() });
        }
        log.line(&String::from_utf8_lossy(&line));
    }
}

impl Log {
    fn polls(&self) -> String {
        format!("{} poll{}", self.polls, if self.polls == 1 { "" } else { "s" })
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(now) = stamp(&words) {
            // A time of day starts again at midnight.
            let is_next_day = self.now.is_some_and(|before| before - now > DAY_S / 2.0);
            self.now = Some(if is_next_day && now < DAY_S { now + DAY_S } else { now });
        }
        let ends: Vec<&&str> = words.iter().filter(|word| is_end(word)).collect();
        if let [.., local, peer] = ends[..] {
            self.ends = Some([(*local).to_owned(), (*peer).to_owned()]);
        }
        let info = Info { words: &words };
        if info.has("cwnd:") && info.has("rtt:") {
            self.poll(&info);
        }
    }

    fn poll(&mut self, info: &Info<'_>) {
        self.polls += 1;
        let ends = self.ends.clone().unwrap_or_else(|| ["local".to_owned(), "peer".to_owned()]);
        if !self.connections.contains_key(&ends) && self.connections.len() >= MOST_CONNECTIONS {
            return;
        }
        let busy = info.number("busy:").map(|ms| ms / 1e3);
        self.is_by_busy |= self.now.is_none() && busy.is_some();
        let Some(now) = self.now.or(busy) else {
            self.without_time += 1;
            return;
        };
        let begin = *self.begin.get_or_insert(now);
        let mss = info.number("mss:").map(|mss| mss as u32);
        let connection = self.connections.entry(ends).or_insert_with(|| Connection {
            polled: Polled::new(mss),
            controller: info.controller(),
            origin: None,
            least: None,
            delivered: 0,
            clock: None,
            first: None,
        });
        connection.poll(now - begin, info);
    }

    fn finish(self) -> Observation {
        let mut found = Observation::new(Kind::Ss);
        found.packets = self.polls;
        if self.without_time > 0 {
            found.lacks.push(
                "polls have no time; write `date +%s.%N` before each `ss`, or use ss of iproute2 4.10 \
                 or newer, which has `busy`",
            );
        } else if self.is_by_busy {
            found.lacks.push("the log has no times; the counter `busy` is the clock");
        }
        for (ends, connection) in self.connections {
            found.duration = found.duration.max(connection.polled.end());
            let controller = connection.controller;
            let flow = connection.polled.finish(ends, Vantage::Sender);
            found.flows.extend(flow.map(|flow| Flow { controller, ..flow }));
        }
        found
    }
}

impl Connection {
    /// The kernel's time of a poll: the counter `busy` goes on, as long as it does not leave the stamp,
    /// which another program wrote a while before `ss` asked the kernel.
    fn time(&mut self, stamp: f64, info: &Info<'_>) -> f64 {
        let Some(busy) = info.number("busy:").map(|ms| ms / 1e3) else { return stamp };
        let own = self.clock.map(|(at, before)| at + busy - before);
        let at = own.filter(|own| (own - stamp).abs() <= JITTER_S).unwrap_or(stamp);
        self.clock = Some((at, busy));
        at
    }

    fn poll(&mut self, stamp: f64, info: &Info<'_>) {
        let at_s = self.time(stamp, info);
        let Some(at) = super::json::ns(at_s).filter(|at| *at >= 0) else { return };
        if let Some(now) = Chrono::of(info, at_s) {
            let first = *self.first.get_or_insert(now);
            self.polled.waits(now.since(&first));
        }
        let mss = info.number("mss:").unwrap_or(0.0);
        let sent = || {
            let all = info.number("bytes_sent:")?;
            Some(all - info.number("bytes_retrans:").unwrap_or(0.0))
        };
        // While a packet is missing, the acknowledged bytes stand still, and the delivered packets do not.
        let packets = info.number("delivered:").map(|packets| packets * info.payload(mss));
        let acked = || info.number("bytes_acked:");
        let total = packets.or_else(acked).or_else(sent).unwrap_or(0.0) as u64;
        // `retrans:now/all`.
        let lost = info.text("retrans:").and_then(|text| text.split('/').nth(1)?.parse().ok());
        let lost: u64 = lost.unwrap_or(0);
        let (bytes, losses, _) = *self.origin.get_or_insert((total, lost, at_s));
        // `rtt:mean/variation` in ms.
        let rtt = info.number("rtt:").map(|ms| (ms * 1e6) as i64);
        self.delivered = self.delivered.max(total.saturating_sub(bytes));
        self.polled.poll(&Poll {
            at,
            delivered: self.delivered,
            rtt,
            lost: lost.saturating_sub(losses),
            marked: info.number("delivered_ce:").unwrap_or(0.0) as u64,
            flight: info.number("unacked:").map(|packets| (packets * mss) as u64),
        });
        let least = info.number("minrtt:").map(|ms| (ms * 1e6) as i64).filter(|ns| *ns > 0);
        if let Some(least) = least
            && self.least.is_none_or(|before| least < before)
        {
            self.least = Some(least);
            self.polled.least(at, least);
        }
    }
}

/// The words of a line with TCP_INFO.
struct Info<'a> {
    words: &'a [&'a str],
}

impl Info<'_> {
    fn has(&self, key: &str) -> bool {
        self.text(key).is_some()
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(key))
    }

    /// The number behind a key, without what follows it: a unit, a second number.
    fn number(&self, key: &str) -> Option<f64> {
        let text = self.text(key)?;
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        text[..end].parse().ok()
    }

    /// Mean payload of a packet, in bytes.
    fn payload(&self, mss: f64) -> f64 {
        let mean = self.number("bytes_sent:").zip(self.number("data_segs_out:"));
        mean.filter(|(_, packets)| *packets > 0.0).map_or(mss, |(bytes, packets)| bytes / packets)
    }

    /// The congestion controller is a bare word before `wscale` or the first field.
    fn controller(&self) -> Option<String> {
        let first = self.words.iter().position(|word| word.contains(':') && !is_end(word))?;
        let before = self.words[..first].iter().rev();
        let is_name = |word: &&&str| {
            let is_flag = FLAGS.contains(*word);
            let mut letters = word.chars();
            !is_flag
                && letters.next().is_some_and(|c| c.is_ascii_lowercase())
                && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        before.copied().find(|word| is_name(&word)).map(str::to_owned)
    }
}

/// Words without a value before the controller, and columns before them.
const FLAGS: [&str; 8] = ["ts", "sack", "ecn", "ecnseen", "fastopen", "tcp", "tcp6", "cong_alg"];

/// Whether a word is an address with a port, as `ss` writes them.
fn is_end(word: &str) -> bool {
    let Some((address, port)) = word.rsplit_once(':') else { return false };
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_v6 = address.starts_with('[') && address.contains(']');
    let is_address = is_v6 || address.split('%').next().is_some_and(is_v4);
    is_port && is_address
}

fn is_v4(text: &str) -> bool {
    text.parse::<std::net::Ipv4Addr>().is_ok()
}

/// The time that a line begins with, in s.
fn stamp(words: &[&str]) -> Option<f64> {
    let first = words.first()?.trim_start_matches(['#', '[', '@']).trim_end_matches([']', ',']);
    // Flent's `Time: SECONDS`, and `time:NANOSECONDS` of other loops.
    let named = ["Time:", "time:"].iter().find_map(|name| first.strip_prefix(name));
    if let Some(text) = named {
        return epoch(if text.is_empty() { words.get(1)? } else { text });
    }
    if let Some(at) = epoch(first) {
        return Some(at);
    }
    if let Some((date, time)) = first.split_once('T') {
        return Some(days(date)? * DAY_S + time_of_day(time)?);
    }
    match (days(first), words.get(1)) {
        (Some(days), Some(time)) => Some(days * DAY_S + time_of_day(time)?),
        // `date` without a format: the time of day stands between the day and the year.
        _ => words.iter().take(5).find_map(|word| time_of_day(word)),
    }
}

fn epoch(word: &str) -> Option<f64> {
    let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unit = EPOCHS.iter().find(|(digits, _)| *digits == whole.len())?.1;
    let at: f64 = word.parse().ok().filter(|_| is_digits(whole) && is_digits(part))?;
    Some(at * unit)
}

/// Days since 1970 of `YYYY-MM-DD` (the days from civil of the proleptic Gregorian calendar).
fn days(word: &str) -> Option<f64> {
    let mut parts = word.split(['-', '/']);
    let [year, month, day] = [(); 3].map(|()| parts.next().and_then(|p| p.parse::<i64>().ok()));
    let (year, month, day) = (year?, month?, day?);
    if parts.next().is_some() || !(1970..3000).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some((year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468) as f64)
}

/// Seconds of `HH:MM:SS`, with a fraction and a zone or without.
fn time_of_day(word: &str) -> Option<f64> {
    let word = word.trim_end_matches(['Z', ']', ',']);
    let word = word.split(['+', '-']).next()?.replace(',', ".");
    let mut parts = word.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let is_over = parts.next().is_some() || hour.len() != 2 || minute.len() != 2;
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let second: f64 = second.parse().ok().filter(|second| (0.0..61.0).contains(second))?;
    let is_time = !is_over && hour < 24 && minute < 60;
    is_time.then(|| f64::from(hour * 3600 + minute * 60) + second)
}

#[cfg(test)]
mod tests {
    use super::{is_end, stamp};

    fn at(line: &str) -> Option<f64> {
        stamp(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn times_of_usual_commands_are_read() {
        let noon = 1_700_000_000.25;
        assert_eq!(at("1700000000.25"), Some(noon));
        assert_eq!(at("1700000000.25 ESTAB 0 0 10.0.0.1:1 10.0.0.2:2"), Some(noon));
        assert_eq!(at("Time: 1700000000.25"), Some(noon));
        assert_eq!(at("time:1700000000250000000"), Some(noon));
        assert_eq!(at("2023-11-14T22:13:20.25Z"), Some(noon));
        assert_eq!(at("2023-11-14 22:13:20.25"), Some(noon));
        // Differences count, so that the zone is left out.
        assert_eq!(at("2023-11-14T22:13:20.25-05:00"), Some(noon));
        assert_eq!(at("2023-11-14T22:13:20,25+01:00"), Some(noon));
        assert_eq!(at("Sat Nov 28 02:11:11 UTC 2026"), Some(7871.0));
        assert_eq!(at("ESTAB 0 0 10.0.0.1:5201 10.0.0.2:4433"), None);
        assert_eq!(at("cubic wscale:7,7 rto:204 rtt:3.5/0.8"), None);
    }

    #[test]
    fn addresses_are_told_from_fields() {
        assert!(is_end("10.0.0.1:5201") && is_end("[::1]:443") && is_end("10.0.0.1%eth0:22"));
        assert!(!is_end("cwnd:10") && !is_end("22:13:20") && !is_end("rtt:3.5"));
    }
}
