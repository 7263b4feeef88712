//! Closed-form theory: arguments are texts with units, results are JSON.

mod rapid;
mod spike;
mod trace;

pub(crate) use rapid::theory_rapid;
pub(crate) use spike::theory_spike;
pub(crate) use trace::{theory_fit, theory_process, theory_trace};
