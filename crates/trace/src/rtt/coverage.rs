//! The time that samples cover.

/// The union of the times from the segment of each sample to its answer. Answers come in the
/// order of time, so each adds only the time since the answer before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coverage {
    ns: u64,
    /// The time of the latest answer in ns; [`i64::MIN`] before the first.
    until: i64,
}

impl Default for Coverage {
    fn default() -> Coverage {
        Coverage { ns: 0, until: i64::MIN }
    }
}

impl Coverage {
    /// Adds a sample, by the times of its segment and of its answer in ns.
    #[inline]
    pub(super) fn record(&mut self, sent: i64, now: i64) {
        let new = now.saturating_sub(self.until.max(sent));
        self.ns = self.ns.saturating_add(u64::try_from(new).unwrap_or(0));
        self.until = self.until.max(now);
    }

    /// Total time in ns.
    pub(super) fn ns(&self) -> u64 {
        self.ns
    }
}
