//! The verdicts as data.

use crate::columns::{tables, words};

words! {
    /// A spike beside its bound.
    Outcome { Above = "above", At = "at", Below = "below", Rise = "rise", Unknown = "unknown" }

    /// Of an excess, its largest part; of a spike below the bound, the reason.
    Cause { Drops = "drops", Faster = "faster", Late = "late", Queue = "queue", Slower = "slower" }

    /// The reason for which the link was not full.
    Limit { Load = "load", Window = "window" }

    /// A part of a delay: the unavoidable one, those of each cause, or one of unknown cause.
    PartKind {
        Unavoidable = "unavoidable", Queue = "queue", Faster = "faster", Late = "late",
        Avoidable = "avoidable",
    }
}

tables! {
    /// One change of capacity: the unavoidable delay, and the response of every controller.
    "summary.json: verdicts[]" Verdict {
        /// the link
        link: String,
        /// when its capacity changed, and when the change was complete, in the first run
        at_s: f64,
        complete_at_s: Option<f64>,
        /// capacity before and after
        from_bps: f64,
        to_bps: f64,
        /// the greatest bound of any run
        unavoidable_s: Option<f64>,
        /// an entry a controller
        controllers: Vec<ControllerVerdict>,
        /// all of it in plain words
        text: String,
    }

    /// The response of one controller to a change of capacity; figures of several runs are medians.
    /// Unknown values are null.
    "summary.json: verdicts[].controllers[]" ControllerVerdict {
        /// the controller
        control: String,
        /// `above`, `at` or `below` the bound, within 1 ms, 2 % or two packets; `rise` for a rise;
        /// `unknown` without a spike or a bound
        outcome: Outcome,
        /// those of the change
        bound_s: Option<f64>,
        spike_s: Option<f64>,
        excess_s: Option<f64>,
        /// that of the change
        recovery_s: Option<f64>,
        /// `carried_loop_bps` as a share of the old capacity
        load: Option<f64>,
        /// what kept the link from being full, with a load below 98 %: `window` if a receive window
        /// limited a flow for most of every run
        limit: Option<Limit>,
        /// share of the capacity used until the next change
        utilisation_after: Option<f64>,
        /// of an excess, its largest part: `queue` (the queue before the change, which waits at the new
        /// rate), `faster` (the senders exceeded the old capacity before they could know), `late` (the
        /// rest). Of a spike below the bound: `drops`, `slower`
        cause: Option<Cause>,
        /// the part of the excess that the cause explains
        cause_s: Option<f64>,
    }

    /// The queueing delay that no sender can avoid on a link with a trace, if it fills the link.
    #[also(derive(serde::Deserialize), serde(default))]
    "summary.json: unavoidable[]" LinkUnavoidable {
        /// the link
        link: String,
        /// the loop delay that it holds for
        loop_s: f64,
        /// mean capacity over the run
        mean_rate_bps: f64,
        /// of the draining sender of `sojourn theory trace`
        queue_delay_p50_s: f64,
        queue_delay_p99_s: f64,
        queue_delay_max_s: f64,
        /// an entry a controller
        controllers: Vec<AvoidableDelay>,
        /// all of it in plain words
        text: String,
        /// for a picture: times, and the greatest unavoidable delay since the time before, in seconds
        series: Vec<[f64; 2]> = absent,
    }

    /// The queueing delay of one controller on a link with a trace; medians of several runs.
    #[also(derive(serde::Deserialize), serde(default))]
    "summary.json: unavoidable[].controllers[]" AvoidableDelay {
        /// the controller
        control: String,
        /// the measured percentile
        queue_delay_p99_s: f64,
        /// one minus the unavoidable percentile over the measured one
        avoidable_share: f64,
        /// share of the capacity used
        utilisation: Option<f64>,
    }

    /// The verdict as a picture: a bar for each controller, in the order of the sentence. Its parts
    /// follow each other on one scale.
    "summary.json: picture" VerdictPicture {
        /// the delay that the bars show
        title: String,
        /// the meaning of its colours
        caption: String,
        /// the scale's end: the longest bar, and at least 10 ms
        scale_s: f64,
        /// a bar a controller, at most 12
        rows: Vec<VerdictRow>,
    }

    /// The bar of one controller.
    "summary.json: picture.rows[]" VerdictRow {
        /// the controller
        control: String,
        /// the parts of its delay, without those of zero
        parts: Vec<VerdictPart>,
        /// the delay until it fell back to the base, that of the change
        recovery_s: Option<f64>,
        /// the whole delay and the recovery in words
        text: String,
    }

    /// A part of a bar.
    "summary.json: picture.rows[].parts[]" VerdictPart {
        /// `unavoidable`; `queue`, `faster` and `late` as the causes of a verdict, where `queue` is any
        /// standing queue; `avoidable` without a known cause
        part: PartKind,
        /// its length
        delay_s: f64,
    }
}
