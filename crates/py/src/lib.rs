//! The Python module `sojourn._core`: conversions only, no logic.

#[cfg(live)]
mod background;
mod bench;
mod capture;
mod errors;
#[cfg(feature = "explain")]
mod explain;
mod export;
mod files;
mod input;
mod interrupt;
#[cfg(live)]
mod kernel;
mod listing;
#[cfg(live)]
mod live;
mod parts;
mod qlog;
mod quantity;
#[cfg(live)]
mod quic;
mod record;
mod run;
mod scenario;
#[cfg(live)]
mod shell;
mod theory;
#[cfg(live)]
mod udp;
mod user_controllers;

#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::bench::bench_cases;
    #[pymodule_export]
    use crate::capture::capture_rtt;
    #[pymodule_export]
    use crate::errors::{ControllerError, LiveError, ScenarioError};
    #[pymodule_export]
    use crate::interrupt::{complete, guard, interrupted, keeps, leftover, parents, settled};
    #[pymodule_export]
    use crate::listing::{controllers, hosts, kernel_host, queues, schema};
    #[pymodule_export]
    use crate::parts::bench_parts;
    #[pymodule_export]
    use crate::qlog::qlog_flows;
    #[pymodule_export]
    use crate::quantity::{quantity, quantity_text, text_fault};
    #[pymodule_export]
    use crate::record::{
        heading, interval_ranks, judge, judge_traces, mean_interval, medians, palette, spread,
        tables, unavoidable_series,
    };
    #[pymodule_export]
    use crate::run::{Outcome, Simulation, frames_parquet, series_parquet, transfers_parquet};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::theory::{theory_fit, theory_process, theory_rapid, theory_spike, theory_trace};
    #[pymodule_export]
    use crate::user_controllers::{Catalogue, Feedback, Limits, RateSample, Received, Sent, Setup};

    #[cfg(feature = "explain")]
    #[pymodule_export]
    use crate::explain::{explain_file, explain_text};
    #[cfg(live)]
    #[pymodule_export]
    use crate::kernel::{KernelController, kernel_names, kernel_registered, kernel_unload};
    #[cfg(live)]
    #[pymodule_export]
    use crate::live::{LiveRun, gain_privilege};
    #[cfg(live)]
    #[pymodule_export]
    use crate::quic::{QuicFetch, QuicServing};
    #[cfg(live)]
    #[pymodule_export]
    use crate::shell::Shell;
    #[cfg(live)]
    #[pymodule_export]
    use crate::udp::{Serving, Transfer};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
