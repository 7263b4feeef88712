//! Random scenarios, each by its number.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;

/// Congestion controllers that end hosts use without an oracle.
pub(crate) const CONTROLLERS: [&str; 13] = [
    "reno", "cubic", "bbr", "bbr3", "copa", "dctcp", "prague", "vegas", "ledbat", "ledbat++",
    "swift", "vivace", "lola",
];

/// A scenario with the values that an explanation should find.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    pub(crate) toml: String,
    /// Delay before the bottleneck, and behind it, in s, one way.
    pub(crate) access: f64,
    pub(crate) behind: f64,
    pub(crate) base_rtt: f64,
    /// Times from which each rate holds, in s and bit/s.
    pub(crate) rates: Vec<(f64, f64)>,
    /// Buffer in bytes, of queues that it alone limits.
    pub(crate) buffer: f64,
    pub(crate) queue: &'static str,
    pub(crate) loss: f64,
    pub(crate) controls: Vec<&'static str>,
    pub(crate) duration: f64,
}

struct Draw(SplitMix64);

impl Draw {
    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.unit() * all.len() as f64) as usize]
    }
}

/// The scenario with a number. `most_bps`: greatest rate.
pub(crate) fn scenario(number: u64, most_bps: f64) -> Random {
    let mut draw = Draw(SplitMix64::seed_from_u64(number.wrapping_mul(0x9E37_79B9) ^ 0x5eed));
    let rate = draw.log(1e6, most_bps);
    let base = draw.log(4e-3, 0.2);
    let (access, behind) = (base * draw.unit() * 0.3, base * 0.1 + base * 0.1 * draw.unit());
    let back = base - access - behind;
    let queue = match draw.unit() {
        plain if plain < 0.5 => "droptail",
        _ => draw.of(&["codel", "fq_codel", "pie", "red", "head_drop", "cake", "dualpi2"]),
    };
    // 0.3 to 4 times the product of delay and rate, but some packets.
    let factor = draw.log(0.3, 4.0);
    let buffer = (factor * base * rate / 8.0).max(20.0 * 1500.0).round();
    let count = match draw.unit() {
        one if one < 0.55 => 1,
        few if few < 0.9 => 2 + (draw.unit() * 3.0) as usize,
        _ => 5 + (draw.unit() * 6.0) as usize,
    };
    let controls = controls(&mut draw, count);
    let duration = (draw.log(15.0, 40.0)).min(2.5e9 / rate).max(8.0);
    let loss = if draw.chance(0.2) { draw.log(1e-4, 5e-3) } else { 0.0 };
    let mut rates = vec![(0.0, rate)];
    if draw.chance(0.4) {
        let at = duration * (0.35 + 0.3 * draw.unit());
        rates.push((at, rate * draw.of(&[0.25, 0.33, 0.5, 0.7])));
    }
    let mut more = Draw(SplitMix64::seed_from_u64(number ^ 0x7ace));
    if more.chance(0.08) {
        // A trace: levels of one to four seconds.
        rates = trace(&mut more, rate, duration);
    }
    let slots = slots(&mut more);
    let steps = steps(&rates);
    let ecn = if draw.chance(0.5) { ", ecn = true" } else { "" };
    let kind = match queue {
        "codel" | "pie" | "red" => format!("{{ kind = \"{queue}\"{ecn} }}"),
        _ => format!("\"{queue}\""),
    };
    // The others have the default of their discipline.
    let size = match queue {
        "droptail" | "head_drop" => format!("buffer = \"{buffer:.0}B\"\n"),
        _ => String::new(),
    };
    let mut toml = format!(
        "title = \"random {number}\"\nduration = \"{duration:.3}s\"\n\n[record]\ninterval = \"50ms\"\n\n\
         [link.access]\ndelay = \"{:.0}us\"\n\n[link.bottleneck]\n\
         rate = {{ start = \"{rate:.0}bit\", steps = [{}] }}\ndelay = \"{:.0}us\"\nqueue = {kind}\n\
         {size}loss = {loss:.6}\n\n[link.back]\ndelay = \"{:.0}us\"\n",
        access * 1e6,
        steps,
        behind * 1e6,
        back * 1e6,
    );
    toml += &slots;
    for (k, control) in controls.iter().enumerate() {
        let start = if k == 0 { 0.0 } else { draw.unit() * 2.0 };
        toml += &flow(k, control, start);
    }
    Random { toml, access, behind, base_rtt: base, rates, buffer, queue, loss, controls, duration }
}

/// The controllers of some flows: in half of the scenarios the same.
fn controls(draw: &mut Draw, count: usize) -> Vec<&'static str> {
    let same = draw.chance(0.5);
    let mut all = vec![draw.of(&CONTROLLERS)];
    while all.len() < count {
        let next = if same { all[0] } else { draw.of(&CONTROLLERS) };
        all.push(next);
    }
    all
}

fn flow(place: usize, control: &str, start: f64) -> String {
    // One-way delays need the receive times of single packets (RFC 6817 section 2.1).
    let host = match control {
        "ledbat" => "host = { like = \"linux-6.18\", receive_times = true }\n",
        _ => "",
    };
    format!(
        "\n[flow.f{place}]\npath = [\"access\", \"bottleneck\"]\nback = [\"back\"]\nsource = \"bulk\"\n\
         control = \"{control}\"\nstart = \"{start:.3}s\"\n{host}"
    )
}

fn steps(rates: &[(f64, f64)]) -> String {
    let each = rates[1..].iter();
    let each = each.map(|(at, rate)| format!("{{ at = \"{at:.4}s\", rate = \"{rate:.0}bit\" }}"));
    each.collect::<Vec<_>>().join(", ")
}

/// Deliveries in batches, in one of ten scenarios.
fn slots(draw: &mut Draw) -> String {
    match draw.chance(0.1) {
        true => {
            format!("\n[link.bottleneck.slots]\nleast = \"{:.0}us\"\n", draw.log(500.0, 8000.0))
        }
        false => String::new(),
    }
}

/// Levels of a capacity that varies, from a third to the whole of `most`, in bit/s.
fn trace(draw: &mut Draw, most: f64, duration: f64) -> Vec<(f64, f64)> {
    let (mut all, mut at) = (Vec::new(), 0.0);
    while at < duration {
        all.push((at, most * draw.log(0.33, 1.0)));
        at += draw.log(1.0, 4.0);
    }
    all
}

impl Random {
    /// Whether its queue drops only if the buffer is full.
    pub(crate) fn has_buffer(&self) -> bool {
        matches!(self.queue, "droptail" | "head_drop")
    }

    /// Its values in a line.
    pub(crate) fn line(&self) -> String {
        format!(
            "{:?} {} {:.1} Mbit base {:.2} ms buffer {:.0} loss {:.4} {:.1} s {:?} {} rates {}",
            self.controls,
            self.queue,
            self.rates[0].1 / 1e6,
            self.base_rtt * 1e3,
            self.buffer,
            self.loss,
            self.duration,
            self.rates.get(1),
            self.rates.len(),
            if self.toml.contains("slots") { "slots" } else { "" },
        )
    }

    /// The capacity at a time, in bit/s.
    pub(crate) fn rate_at(&self, at: f64) -> f64 {
        self.rates.iter().rev().find(|(from, _)| *from <= at).map_or(self.rates[0].1, |one| one.1)
    }
}
