//! The parts of a summary that verdicts need, as `summary.json` has them.

use serde::Deserialize;

use crate::figure::{Figure, value};

/// A summary: its runs or, if these were repeated, the medians of each controller.
#[derive(Clone, Debug, Deserialize)]
pub struct Summary {
    pub(crate) runs: Vec<Entry>,
    #[serde(default)]
    medians: Option<Vec<Entry>>,
}

impl Summary {
    /// The medians of each controller or, without any, the runs.
    pub(crate) fn entries(&self) -> &[Entry] {
        self.medians.as_deref().filter(|medians| !medians.is_empty()).unwrap_or(&self.runs)
    }
}

/// A run, or the medians of a controller.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Entry {
    pub(crate) control: String,
    #[serde(default)]
    duration_s: Option<f64>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) links: Vec<Link>,
    #[serde(default)]
    spikes: Option<Vec<Spike>>,
}

impl Entry {
    /// Its changes of capacity.
    pub(crate) fn spikes(&self) -> &[Spike] {
        self.spikes.as_deref().unwrap_or_default()
    }

    /// Whether a receive window limited a flow for more than this share of the run.
    pub(crate) fn is_windowed(&self, share: f64) -> bool {
        let most = share * self.duration_s.unwrap_or_default();
        self.flows.iter().any(|flow| value(flow.rwnd_limited_s).unwrap_or_default() > most)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Flow {
    pub(crate) name: String,
    #[serde(default)]
    control: Option<String>,
    #[serde(default)]
    pub(crate) base_rtt_s: Option<Figure>,
    #[serde(default)]
    pub(crate) rtt_p50_s: Option<Figure>,
    #[serde(default)]
    pub(crate) response_p50_s: Option<Figure>,
    #[serde(default)]
    pub(crate) media: Option<Media>,
    #[serde(default)]
    rwnd_limited_s: Option<Figure>,
}

impl Flow {
    /// Whether it sends echo requests: it measures round trips without a controller.
    pub(crate) fn is_ping(&self) -> bool {
        self.control.as_deref() == Some("none") && self.media.is_none()
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Media {
    #[serde(default)]
    pub(crate) frame_delay_p50_s: Option<Figure>,
    #[serde(default)]
    pub(crate) least_frame_delay_mean_s: Option<Figure>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Link {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) queue_delay_p50_s: Option<Figure>,
    #[serde(default)]
    pub(crate) utilisation: Option<Figure>,
    #[serde(default)]
    pub(crate) queue_delay_p99_s: Option<Figure>,
}

/// A change of capacity. `sojourn columns` has the meaning of each figure.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Spike {
    pub(crate) link: String,
    pub(crate) at_s: Figure,
    #[serde(default)]
    pub(crate) complete_at_s: Option<Figure>,
    pub(crate) from_bps: f64,
    pub(crate) to_bps: f64,
    #[serde(default)]
    pub(crate) spike_s: Option<Figure>,
    #[serde(default)]
    pub(crate) bound_s: Option<Figure>,
    #[serde(default)]
    pub(crate) excess_s: Option<Figure>,
    #[serde(default)]
    pub(crate) recovery_s: Option<Figure>,
    #[serde(default)]
    pub(crate) utilisation_after: Option<Figure>,
    #[serde(default)]
    pub(crate) queue_delay_before_s: Option<Figure>,
    #[serde(default)]
    pub(crate) loop_s: Option<Figure>,
    #[serde(default)]
    carried_loop_bps: Option<Figure>,
    #[serde(default)]
    pub(crate) offered_loop_bps: Option<Figure>,
    #[serde(default)]
    pub(crate) dropped_to_peak_packets: Option<Figure>,
}

/// Offered rates vary by whole packets between loop delays; smaller reductions do not count.
const SAME_RATE: f64 = 0.98;

impl Spike {
    /// Whether another run has the same change; runs of several scenarios may have other ones.
    pub(crate) fn is_same(&self, other: &Spike) -> bool {
        let of = |one: &Spike| (one.from_bps.to_bits(), one.to_bps.to_bits());
        self.link == other.link && of(self) == of(other)
    }

    /// Whether the capacity rose, or stayed.
    pub(crate) fn is_rise(&self) -> bool {
        self.to_bps >= self.from_bps
    }

    /// Share of the old capacity that the link carried in the loop delay before.
    pub(crate) fn load(&self) -> Option<f64> {
        let carried = value(self.carried_loop_bps)?;
        (self.from_bps > 0.0).then(|| carried / self.from_bps)
    }

    /// Whether senders slowed down before they could detect the change.
    pub(crate) fn is_slower(&self) -> bool {
        let both = value(self.carried_loop_bps).zip(value(self.offered_loop_bps));
        both.is_some_and(|(carried, offered)| offered < SAME_RATE * carried)
    }
}
