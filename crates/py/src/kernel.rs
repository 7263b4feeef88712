//! Controllers in the kernel.

use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use sojourn_kernel::{Attached, Ect1, Loaded, Registered, kernel_name};
use sojourn_scenario::{Control, Scenario};

use crate::errors::{LiveError, value_error};

/// A controller that is registered in the kernel until this object is dropped.
#[pyclass(module = "sojourn._core", unsendable)]
pub(crate) struct KernelController {
    loaded: Loaded,
    attached: Vec<Attached>,
}

impl KernelController {
    /// Loads the controller of the scenario's only flow.
    pub(crate) fn load(scenario: &Scenario) -> PyResult<KernelController> {
        let [flow] = &scenario.flows[..] else {
            return Err(value_error("the scenario of a kernel's controller has one flow"));
        };
        let Some(Control::Algorithm { kind, params, .. }) = &flow.control else {
            return Err(value_error("the flow names no controller"));
        };
        let loaded = sojourn_kernel::load(kind, params).map_err(live_error)?;
        Ok(KernelController { loaded, attached: Vec::new() })
    }
}

#[pymethods]
impl KernelController {
    /// Keeps it registered without a process.
    fn pin(&mut self) -> PyResult<()> {
        self.loaded.pin().map_err(live_error)
    }

    /// Sets ECT(1) on the packets of controllers with accurate ECN that leave a device.
    fn set_ect1(&mut self, device: &str) -> PyResult<()> {
        let attached = Ect1::load().and_then(|program| program.attach(device));
        self.attached.push(attached.map_err(live_error)?);
        Ok(())
    }

    /// Whether no other process has unloaded it.
    fn is_registered(&self) -> bool {
        self.loaded.is_registered()
    }
}

/// The names of the controllers that can be loaded.
#[pyfunction]
pub(crate) fn kernel_names() -> Vec<&'static str> {
    sojourn_kernel::names().collect()
}

/// The registered controllers, as JSON.
#[pyfunction]
pub(crate) fn kernel_registered() -> PyResult<String> {
    let all = sojourn_kernel::registered().map_err(live_error)?;
    Ok(all.iter().map(described).collect::<Value>().to_string())
}

/// Unregisters a controller, also if another process has loaded it.
#[pyfunction]
pub(crate) fn kernel_unload(name: &str, force: bool) -> PyResult<()> {
    sojourn_kernel::unload(name, force).map_err(live_error)
}

fn described(one: &Registered) -> Value {
    let values = sojourn_kernel::values(sojourn_kernel::declared(&one.name), &one.words);
    let params: Map<_, _> =
        values.map(|(name, value)| (name.to_owned(), value.to_string().into())).collect();
    json!({
        "name": one.name,
        "kernel_name": kernel_name(&one.name),
        "sockets": one.sockets,
        "pinned": one.is_pinned,
        "params": params,
    })
}

fn live_error(error: sojourn_kernel::Error) -> PyErr {
    LiveError::new_err(error.to_string())
}
