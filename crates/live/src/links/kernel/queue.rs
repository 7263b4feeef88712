//! The queue of a link as a qdisc: its name and arguments.

use sojourn_queue::{Discipline, Framing, Overhead};
use sojourn_scenario::{Buffer, Link};
use sojourn_units::params::{Kind, Params};
use sojourn_units::{Bytes, Duration, Rate};

use super::step::refused;
use crate::error::Error;

/// Bytes that HTB counts for a packet's Ethernet header.
pub(super) const ETHERNET: i64 = 14;
/// Decisions of the kernel's PIE that have no setting (`sch_pie.c`: `pie_vars_init`, and
/// `MAX_PROB / 10` in `pie_qdisc_enqueue`).
const PIE_BURST: Duration = Duration::from_millis(150);
const PIE_MARKS_UP_TO: f64 = 0.1;

/// The size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Bytes(Bytes),
    Packets(u64),
}

/// A queue, and the size of the link's largest packet.
struct Queue<'a> {
    link: &'a Link,
    discipline: &'a Discipline,
    limit: Limit,
    largest: Bytes,
}

/// The name and the arguments of a link's queue at this rate.
pub(super) fn arguments(link: &Link, rate: Rate, largest: Bytes) -> Result<String, Error> {
    let discipline = &link.queue;
    let limit = match link.buffer {
        Buffer::Default => Limit::Packets(discipline.default_packets()),
        Buffer::Unlimited => Limit::Packets(u64::from(u32::MAX)),
        Buffer::Packets(count) => Limit::Packets(count),
        Buffer::Bytes(bytes) => Limit::Bytes(bytes),
        Buffer::Time(span) => Limit::Bytes(rate.bytes_in(span).max(largest)),
    };
    Queue { link, discipline, limit, largest }.arguments()
}

impl Queue<'_> {
    fn arguments(&self) -> Result<String, Error> {
        let params = &self.discipline.params;
        match self.discipline.kind.as_str() {
            "droptail" => Ok(match self.limit {
                Limit::Bytes(bytes) => format!("bfifo limit {}", capped(bytes.0)),
                Limit::Packets(count) => format!("pfifo limit {}", capped(count)),
            }),
            "head_drop" => Ok(format!("pfifo_head_drop limit {}", self.packets()?)),
            "codel" => Ok(format!("codel limit {}{}", self.packets()?, codel(params))),
            "fq_codel" => self.fq_codel(params),
            "pie" => self.pie(params),
            "pie_linux" => self.pie_linux(params),
            "red" => self.red(params),
            "dualpi2_linux" => self.dualpi2(params),
            "cake" => self.cake(params),
            "dualpi2" => Err(self.refused(
                "the queue `dualpi2`, the pseudocode of the RFC",
                "use `dualpi2_linux`, the kernel's",
            )),
            "fq_codel_rfc" => Err(self.refused(
                "the queue `fq_codel_rfc`, the text of the RFC",
                "use `fq_codel`, the kernel's",
            )),
            other => Err(self.refused(
                format!("the queue `{other}`"),
                "use droptail, head_drop, codel, fq_codel, pie_linux, red, cake or dualpi2_linux",
            )),
        }
    }

    fn fq_codel(&self, params: &Params) -> Result<String, Error> {
        Ok(format!(
            "fq_codel limit {} flows {} quantum {} drop_batch {}{}",
            self.packets()?,
            params.integer("flows"),
            params.data("quantum").0,
            params.integer("drop_batch"),
            codel(params)
        ))
    }

    fn cake(&self, params: &Params) -> Result<String, Error> {
        if !matches!(self.link.buffer, Buffer::Default) {
            return Err(self.refused(
                "`cake` with a buffer: the kernel limits its memory instead",
                "leave out `buffer`",
            ));
        }
        let bandwidth = match params.rate("bandwidth") {
            Kind::FASTEST => "unlimited".to_owned(),
            rate => format!("bandwidth {}bit", rate.0),
        };
        let choice = |name| params.choice(name);
        Ok(format!(
            "cake {bandwidth} rtt {} {} {} {} {} {}",
            time(params.time("rtt")),
            choice("diffserv"),
            choice("isolation"),
            choice("ack_filter"),
            overhead(choice("overhead")),
            if params.switch("ingress") { "ingress" } else { "egress" }
        ))
    }

    fn pie(&self, params: &Params) -> Result<String, Error> {
        if params.time("max_burst") != PIE_BURST || params.number("mark_ecnth") != PIE_MARKS_UP_TO {
            return Err(self.refused(
                "`pie` with its own `max_burst` or `mark_ecnth`",
                "leave them out: the kernel has 150 ms and 0.1",
            ));
        }
        self.pie_of_both(params)
    }

    fn pie_linux(&self, params: &Params) -> Result<String, Error> {
        let bytemode = if params.switch("bytemode") { " bytemode" } else { "" };
        Ok(format!("{}{bytemode}", self.pie_of_both(params)?))
    }

    /// The settings that the kernel's PIE and that of the RFC share.
    fn pie_of_both(&self, params: &Params) -> Result<String, Error> {
        let (alpha, beta) = (params.number("alpha") * 16.0, params.number("beta") * 16.0);
        if alpha.fract() != 0.0 || beta.fract() != 0.0 {
            return Err(self.refused(
                "`pie` with these gains",
                "use multiples of 1/16 for `alpha` and `beta`",
            ));
        }
        let estimator = if params.switch("dq_rate_estimator") {
            "dq_rate_estimator"
        } else {
            "no_dq_rate_estimator"
        };
        Ok(format!(
            "pie limit {} target {} tupdate {} alpha {alpha} beta {beta} {estimator} {}",
            self.packets()?,
            time(params.time("target")),
            time(params.time("tupdate")),
            ecn(params)
        ))
    }

    fn red(&self, params: &Params) -> Result<String, Error> {
        if params.choice("unit") != "bytes" || params.switch("gentle") {
            return Err(self.refused(
                "`red` with `unit = \"packets\"` or `gentle`",
                "use `unit = \"bytes\"` without `gentle`, as the kernel does",
            ));
        }
        let Limit::Bytes(limit) = self.limit else {
            return Err(self.refused(
                "`red` with a buffer in packets",
                format!("write the buffer in bytes, such as \"{}\"", self.largest * 1000),
            ));
        };
        let largest = self.largest.0;
        let threshold = |name| (params.number(name) * self.largest.as_f64()).round() as u64;
        let (min, max) = (threshold("min_th"), threshold("max_th"));
        let Some(burst) = burst(params.number("w_q"), min, largest) else {
            return Err(self.refused("`red` with this `w_q`", "use a greater `w_q`"));
        };
        let switch = |name| if params.switch(name) { format!(" {name}") } else { String::new() };
        Ok(format!(
            "red limit {} min {min} max {max} avpkt {largest} burst {burst} probability {} \
             bandwidth {}bit{}{}",
            capped(limit.0),
            params.number("max_p"),
            params.rate("bandwidth").0,
            switch("ecn"),
            switch("harddrop")
        ))
    }

    fn dualpi2(&self, params: &Params) -> Result<String, Error> {
        let k = params.number("k");
        if params.choice("scheduler") != "wrr" || k.fract() != 0.0 {
            return Err(self.refused(
                "`dualpi2_linux` with another scheduler than `wrr`, or a `k` that is no integer",
                "use the kernel's settings",
            ));
        }
        let overload =
            if params.switch("drop_on_overload") { "drop_on_overload" } else { "overflow" };
        Ok(format!(
            "dualpi2 limit {} coupling_factor {k} step_thresh {} {overload} classic_protection {}% \
             target {} tupdate {} alpha {} beta {}",
            self.packets()?,
            time(params.time("step_thresh")),
            params.number("classic_protection") * 100.0,
            time(params.time("target")),
            time(params.time("tupdate")),
            params.number("alpha"),
            params.number("beta")
        ))
    }

    /// The limit of a qdisc that counts packets.
    fn packets(&self) -> Result<u64, Error> {
        match self.limit {
            Limit::Packets(count) => Ok(capped(count)),
            Limit::Bytes(bytes) => {
                let count = bytes.0.div_ceil(self.largest.0.max(1));
                Err(self.refused(
                    format!("`{}` with a buffer in bytes or time", self.discipline.kind),
                    format!("write the buffer in packets, such as \"{count}packets\""),
                ))
            }
        }
    }

    fn refused(&self, what: impl Into<String>, remedy: impl Into<String>) -> Error {
        refused(format!("link `{}`", self.link.name), what, remedy)
    }
}

/// CAKE's overhead. With any but `raw`, CAKE takes the Ethernet header off the size of a packet
/// (`cake_calc_overhead`), which the shaper's `stab` has already done: the overhead adds it again.
fn overhead(keyword: &str) -> String {
    let known = Overhead::of_keyword(keyword).filter(|_| keyword != "raw");
    let Some(Overhead { bytes, mpu, framing }) = known else { return "raw".to_owned() };
    let framing = match framing {
        Framing::None => "noatm",
        Framing::Atm => "atm",
        Framing::Ptm => "ptm",
    };
    format!("overhead {} mpu {mpu} {framing}", bytes + ETHERNET as u64)
}

/// The settings that CoDel and FQ-CoDel share.
fn codel(params: &Params) -> String {
    let threshold = params.time("ce_threshold");
    let threshold = if threshold == Duration::MAX {
        String::new()
    } else {
        format!(" ce_threshold {}", time(threshold))
    };
    let (target, interval) = (time(params.time("target")), time(params.time("interval")));
    format!(" target {target} interval {interval}{threshold} {}", ecn(params))
}

fn ecn(params: &Params) -> &'static str {
    if params.switch("ecn") { "ecn" } else { "noecn" }
}

/// The burst for which tc-red(8) chooses the weight of the average that is nearest to `weight`: a
/// power of 1/2 (`tc_red_eval_ewma`, iproute2 `tc/tc_red.c`).
fn burst(weight: f64, min: u64, packet: u64) -> Option<u64> {
    let wanted = (-weight.log2()).round().max(1.0) as u32;
    let least = min / packet + 1;
    (least..least + 100_000).find(|burst| chosen(*burst, min, packet) == Some(wanted))
}

/// The weight that tc-red(8) chooses, as a power of 1/2.
fn chosen(burst: u64, min: u64, packet: u64) -> Option<u32> {
    let room = burst as f64 + 1.0 - min as f64 / packet as f64;
    let holds = |power: u32| {
        let weight = 0.5_f64.powi(power as i32);
        room <= (1.0 - (1.0 - weight).powf(burst as f64)) / weight
    };
    if room < 1.0 { None } else { (1..32).find(|power| holds(*power)) }
}

/// A duration in microseconds: `tc` reads no nanoseconds in all places.
pub(super) fn time(span: Duration) -> String {
    format!("{}us", span.0 as f64 / 1000.0)
}

/// Limits of qdiscs have 32 bits.
fn capped(count: u64) -> u64 {
    count.min(u64::from(u32::MAX))
}
