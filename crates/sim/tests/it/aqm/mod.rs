//! Queueing delay and coupling of AQMs, against the claims of each AQM's source.

mod coupling;
mod delays;
