//! The data that a transfer sends.

use std::os::fd::BorrowedFd;

use sojourn_scenario::source::{Action, Source};
use sojourn_units::{Bytes, Instant};

use super::writer::Writer;
use crate::error::Error;
use crate::client::Client;

/// More bytes than any transfer can send.
const ENDLESS: u64 = u64::MAX / 4;

/// The data of a transfer.
#[derive(Debug)]
pub enum Load {
    /// This many bytes, after which the transfer ends.
    Bytes(Bytes),
    /// Data without end; the transfer ends after its duration.
    Endless,
    /// A source of a scenario. Its times count from the clock's origin. A source with requests is
    /// refused.
    Source(Box<dyn Source>),
    /// Data that another thread writes; the transfer ends after its duration.
    Written(Writer),
}

/// A load while it is sent.
pub(super) struct Feed {
    load: Load,
    has_begun: bool,
}

impl Feed {
    pub(super) fn new(load: Load) -> Result<Feed, Error> {
        match &load {
            Load::Source(source) if source.request_target(0).is_some() => Err(Error::Requests),
            _ => Ok(Feed { load, has_begun: false }),
        }
    }

    /// Time of its next action.
    pub(super) fn next_at(&self) -> Instant {
        match &self.load {
            Load::Source(source) => source.next_at(),
            Load::Written(writer) if writer.is_due() => Instant::ZERO,
            Load::Written(_) => Instant::MAX,
            Load::Bytes(_) | Load::Endless if self.has_begun => Instant::MAX,
            Load::Bytes(_) | Load::Endless => Instant::ZERO,
        }
    }

    /// Writes the data that are due.
    pub(super) fn act(&mut self, now: Instant, client: &mut Client) {
        if let Load::Written(writer) = &self.load {
            writer.wait_again();
        }
        while self.next_at() <= now {
            self.has_begun = true;
            let bytes = match &mut self.load {
                Load::Bytes(bytes) => bytes.0,
                Load::Endless => ENDLESS,
                Load::Written(writer) => writer.take(),
                Load::Source(source) => match source.act(now) {
                    Action::Write(bytes) => bytes,
                    Action::Request(_) | Action::Transfer(_) | Action::Frame { .. } => 0,
                },
            };
            client.write(bytes);
        }
    }

    /// Data were acknowledged. The sender learns it half a round trip after the delivery.
    pub(super) fn on_acked(&mut self, now: Instant, client: &Client) {
        if let Load::Source(source) = &mut self.load {
            let delivered = client.sender().delivered().0;
            if source.target().is_some_and(|target| delivered >= target) {
                source.on_delivered(now);
            }
        }
    }

    /// Whether all data were delivered, and no more will come.
    pub(super) fn is_over(&self, client: &Client) -> bool {
        let is_endless = matches!(self.load, Load::Written(_));
        let is_written = self.has_begun && !is_endless && self.next_at() == Instant::MAX;
        is_written && client.sender().is_done()
    }

    /// Readable when another thread has written data.
    pub(super) fn wake(&self) -> Option<BorrowedFd<'_>> {
        match &self.load {
            Load::Written(writer) => Some(writer.descriptor()),
            Load::Bytes(_) | Load::Endless | Load::Source(_) => None,
        }
    }

    /// Files and answers that were delivered.
    pub(super) fn transfers(&self, is_complete: bool) -> u64 {
        match &self.load {
            Load::Source(source) => source.transfers().completed,
            Load::Bytes(_) => u64::from(is_complete),
            Load::Endless | Load::Written(_) => 0,
        }
    }
}
