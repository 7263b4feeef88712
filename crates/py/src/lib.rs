//! The Python module `sojourn._core`: conversions only, no logic.

#[cfg(target_os = "linux")]
mod background;
mod bench;
mod capture;
mod errors;
mod export;
mod files;
mod input;
mod interrupt;
#[cfg(target_os = "linux")]
mod kernel;
mod listing;
#[cfg(target_os = "linux")]
mod live;
mod parts;
mod qlog;
mod quantity;
#[cfg(target_os = "linux")]
mod quic;
mod record;
mod run;
mod scenario;
#[cfg(target_os = "linux")]
mod shell;
mod theory;
#[cfg(target_os = "linux")]
mod udp;
mod user_controllers;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", module.py().get_type::<errors::ScenarioError>())?;
    module.add("ControllerError", module.py().get_type::<errors::ControllerError>())?;
    module.add("LiveError", module.py().get_type::<errors::LiveError>())?;
    module.add_class::<user_controllers::Catalogue>()?;
    module.add_class::<user_controllers::Limits>()?;
    module.add_class::<user_controllers::Feedback>()?;
    module.add_class::<user_controllers::RateSample>()?;
    module.add_class::<user_controllers::Received>()?;
    module.add_class::<user_controllers::Sent>()?;
    module.add_class::<user_controllers::Setup>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<run::Simulation>()?;
    module.add_class::<run::Outcome>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<live::LiveRun>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<shell::Shell>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<udp::Transfer>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<udp::Serving>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<quic::QuicServing>()?;
    #[cfg(target_os = "linux")]
    module.add_class::<quic::QuicFetch>()?;
    #[cfg(target_os = "linux")]
    add_kernel(module)?;
    #[cfg(target_os = "linux")]
    module.add_function(wrap_pyfunction!(live::gain_privilege, module)?)?;
    module.add_function(wrap_pyfunction!(run::series_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(run::transfers_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(run::frames_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(listing::controllers, module)?)?;
    module.add_function(wrap_pyfunction!(listing::queues, module)?)?;
    module.add_function(wrap_pyfunction!(listing::hosts, module)?)?;
    module.add_function(wrap_pyfunction!(listing::kernel_host, module)?)?;
    module.add_function(wrap_pyfunction!(listing::schema, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::quantity_text, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::text_fault, module)?)?;
    module.add_function(wrap_pyfunction!(record::tables, module)?)?;
    module.add_function(wrap_pyfunction!(record::heading, module)?)?;
    module.add_function(wrap_pyfunction!(record::palette, module)?)?;
    module.add_function(wrap_pyfunction!(record::medians, module)?)?;
    module.add_function(wrap_pyfunction!(record::verdicts, module)?)?;
    module.add_function(wrap_pyfunction!(record::sentences, module)?)?;
    module.add_function(wrap_pyfunction!(record::judge_traces, module)?)?;
    module.add_function(wrap_pyfunction!(record::unavoidable_series, module)?)?;
    module.add_function(wrap_pyfunction!(record::spread, module)?)?;
    module.add_function(wrap_pyfunction!(record::interval_ranks, module)?)?;
    module.add_function(wrap_pyfunction!(record::mean_interval, module)?)?;
    module.add_function(wrap_pyfunction!(bench::bench_cases, module)?)?;
    module.add_function(wrap_pyfunction!(parts::bench_parts, module)?)?;
    module.add_function(wrap_pyfunction!(capture::capture_rtt, module)?)?;
    module.add_function(wrap_pyfunction!(qlog::qlog_flows, module)?)?;
    module.add_function(wrap_pyfunction!(interrupt::guard, module)?)?;
    module.add_function(wrap_pyfunction!(interrupt::interrupted, module)?)?;
    module.add_function(wrap_pyfunction!(interrupt::keeps, module)?)?;
    module.add_function(wrap_pyfunction!(interrupt::parents, module)?)?;
    module.add_function(wrap_pyfunction!(interrupt::leftover, module)?)?;
    module.add_function(wrap_pyfunction!(interrupt::settled, module)?)?;
    module.add_function(wrap_pyfunction!(interrupt::complete, module)?)?;
    module.add_function(wrap_pyfunction!(theory::theory_spike, module)?)?;
    module.add_function(wrap_pyfunction!(theory::theory_rapid, module)?)?;
    module.add_function(wrap_pyfunction!(theory::theory_trace, module)?)?;
    module.add_function(wrap_pyfunction!(theory::theory_process, module)?)?;
    module.add_function(wrap_pyfunction!(theory::theory_fit, module)?)?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn add_kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<kernel::KernelController>()?;
    module.add_function(wrap_pyfunction!(kernel::kernel_names, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::kernel_registered, module)?)?;
    module.add_function(wrap_pyfunction!(kernel::kernel_unload, module)?)
}
