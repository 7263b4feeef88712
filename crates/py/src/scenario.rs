//! Scenarios.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
#[cfg(live)]
use sojourn_live::{Departures, IpVersion, Links, Options, Readings, ShellOptions, Stack};
use sojourn_scenario::{Control, Document, Flow, Known, Scenario as Resolved, kept_names};

#[cfg(live)]
use crate::errors::LiveError;
use crate::errors::{scenario_error, value_error};
use crate::export::AnyRun;
use crate::files::Files;
#[cfg(live)]
use crate::kernel::KernelController;
#[cfg(live)]
use crate::live::{LiveFiles, LiveNetwork, LiveRun};
#[cfg(live)]
use crate::quic::{GetOptions, Prefixes, QuicFetch, QuicServing, ServeOptions};
use crate::run::Simulation;
#[cfg(live)]
use crate::shell::Shell;
#[cfg(live)]
use crate::udp::Transfer;
use crate::user_controllers::{Catalogue, Failure};

/// A scenario document, with the folder that its file paths are relative to.
#[pyclass(module = "sojourn._core")]
pub(crate) struct Scenario {
    document: Document,
    /// Shared by copies, which then read each file once.
    files: Arc<Files>,
    controllers: Catalogue,
    /// The resolved document, cached until the document changes. All runs share it and the files
    /// that it names.
    resolved: OnceLock<Resolved>,
}

/// A file that a scenario names.
struct NamedFile {
    /// The name of its link or flow.
    owner: String,
    /// The path of its key, as for `--set`.
    path: String,
    file: String,
}

impl Scenario {
    fn new(document: Document, base_dir: PathBuf) -> Scenario {
        let resolved = OnceLock::new();
        let files = Arc::new(Files::new(base_dir));
        Scenario { document, files, controllers: Catalogue::default(), resolved }
    }

    pub(crate) fn resolve(&self, py: Python<'_>) -> PyResult<&Resolved> {
        if let Some(resolved) = self.resolved.get() {
            return Ok(resolved);
        }
        let read = |name: &str| self.files.read(name);
        let known =
            Known { stacks: crate::listing::stacks(), ..Known::from(&self.controllers.names()) };
        let resolved = self.document.resolve_known(&known, &read);
        let resolved = resolved.map_err(|errors| scenario_error(py, &errors))?;
        Ok(self.resolved.get_or_init(|| resolved))
    }

    /// Resolves the document for one simulation, with failures in Python in `failure`.
    fn resolve_for(&self, py: Python<'_>, failure: &Failure) -> PyResult<Resolved> {
        let controllers = self.controllers.of_run(failure);
        Ok(Resolved { controllers, ..self.resolve(py)?.clone() })
    }

    /// Refuses a flow that a real stack carries, for work that has another transport.
    #[cfg(live)]
    fn refuse_stacks(&self, py: Python<'_>, work: &str) -> PyResult<()> {
        let stacks = self.resolve(py)?.flows.iter().find(|flow| flow.stack.is_some());
        let Some((flow, stack)) = stacks.and_then(|flow| Some((flow, flow.stack.as_ref()?))) else {
            return Ok(());
        };
        let (flow, stack) = (&flow.name, &stack.name);
        Err(value_error(format!(
            "{work} cannot serve the stack `{stack}` of flow `{flow}`; remove `stack` from the \
             flow"
        )))
    }

    /// The files that its links and flows name, regardless of other problems and of missing
    /// controllers.
    fn named_files(&self) -> Vec<NamedFile> {
        let document = self.document.to_json();
        let file = |table: &str, name: &String, keys: [&str; 2], value: &serde_json::Value| {
            Some(NamedFile {
                owner: name.clone(),
                path: format!("{table}.{name}.{}.{}", keys[0], keys[1]),
                file: value[keys[0]][keys[1]].as_str()?.to_owned(),
            })
        };
        let tables = |name: &str| document[name].as_object().into_iter().flatten();
        let traces =
            tables("link").filter_map(|(name, link)| file("link", name, ["rate", "trace"], link));
        let sizes =
            tables("flow").filter_map(|(name, flow)| file("flow", name, ["source", "file"], flow));
        traces.chain(sizes).collect()
    }

    /// Whether a run with this control calls Python.
    fn calls_python(&self, scenario: &Resolved, control: Option<&Control>) -> bool {
        let flows = scenario.flows.iter();
        let controls = flows.filter_map(|flow| flow.control.as_ref()).chain(control);
        controls.into_iter().any(|control| self.controllers.is_own(control.name()))
    }
}

/// The control of run number `index`; `None` if the flows name their own.
pub(crate) fn control(scenario: &Resolved, index: usize) -> PyResult<Option<&Control>> {
    match scenario.controls.get(index) {
        None if index == 0 => Ok(None),
        None => Err(value_error(format!("there is no controller number {index}"))),
        some => Ok(some),
    }
}

#[pymethods]
impl Scenario {
    #[staticmethod]
    fn from_toml(
        py: Python<'_>,
        origin: &str,
        text: &str,
        base_dir: PathBuf,
    ) -> PyResult<Scenario> {
        let document = Document::from_toml(origin, text).map_err(|e| scenario_error(py, &e))?;
        Ok(Scenario::new(document, base_dir))
    }

    #[staticmethod]
    fn from_json(
        py: Python<'_>,
        origin: &str,
        json_text: &str,
        base_dir: PathBuf,
    ) -> PyResult<Scenario> {
        let value = serde_json::from_str(json_text).map_err(value_error)?;
        let document = Document::from_json(origin, value).map_err(|e| scenario_error(py, &e))?;
        Ok(Scenario::new(document, base_dir))
    }

    /// A copy, which may be changed by itself.
    fn copy(&self) -> Scenario {
        Scenario {
            document: self.document.clone(),
            files: self.files.clone(),
            controllers: self.controllers.clone(),
            resolved: self.resolved.clone(),
        }
    }

    /// The identity of the runs with a control, but for the seed. It ends with the code of every
    /// controller in Python that they use.
    fn digest(&self, py: Python<'_>, control: usize) -> PyResult<String> {
        let scenario = self.resolve(py)?;
        let control = self::control(scenario, control)?;
        let chosen = scenario.flows.iter().map(|flow| flow.control.as_ref().or(control));
        let used: BTreeSet<&str> = chosen.flatten().map(Control::name).collect();
        let code: String = used.iter().filter_map(|name| self.controllers.code(name)).collect();
        Ok(format!("{:032x}{code}", scenario.digest(control)))
    }

    /// Raises a fault in the value of a path of keys.
    fn fault(&self, py: Python<'_>, path: Vec<String>, message: &str, help: &str) -> PyResult<()> {
        Err(scenario_error(py, &self.document.fault(&path, message, help)))
    }

    /// Sets the controllers that it may name from now on.
    fn use_controllers(&mut self, controllers: PyRef<'_, Catalogue>) {
        self.controllers = controllers.clone();
        self.resolved.take();
    }

    fn set(&mut self, py: Python<'_>, assignment: &str) -> PyResult<()> {
        self.resolved.take();
        self.document.set(assignment).map_err(|e| scenario_error(py, &e))
    }

    fn set_controls(&mut self, names: Vec<String>) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.resolved.take();
        self.document.set_controls(&names);
    }

    fn to_toml(&self) -> String {
        self.document.to_toml()
    }

    fn to_json(&self) -> String {
        self.document.to_json().to_string()
    }

    /// The document with a new name for every file that it names, and the texts of these files. A
    /// folder with both can repeat the run.
    fn portable(&self, py: Python<'_>) -> PyResult<(String, Vec<(String, String)>)> {
        let (toml, origin) = (self.document.to_toml(), "the scenario");
        let mut document =
            Document::from_toml(origin, &toml).map_err(|e| scenario_error(py, &e))?;
        let mut files = Vec::new();
        let named = self.named_files();
        let owned: Vec<_> = named.iter().map(|n| (n.owner.clone(), n.file.clone())).collect();
        for (NamedFile { path, file, .. }, name) in named.iter().zip(kept_names(&owned)) {
            let change = format!("{path}={}", serde_json::Value::from(name.as_str()));
            document.set(&change).map_err(|e| scenario_error(py, &e))?;
            let text = self.files.read(file);
            let text = text.map_err(|why| value_error(format!("the file {file}: {why}")))?;
            files.push((name, text));
        }
        Ok((document.to_toml(), files))
    }

    /// The unavoidable delay of each link with a trace, beside the controllers of `summary`, as JSON.
    fn unavoidable(&self, py: Python<'_>, summary: &str) -> PyResult<String> {
        let summary = serde_json::from_str(summary).map_err(value_error)?;
        let found = sojourn_record::unavoidable(self.resolve(py)?, &summary, 0);
        serde_json::to_string(&found).map_err(value_error)
    }

    fn check(&self, py: Python<'_>) -> PyResult<()> {
        self.resolve(py).map(|_| ())
    }

    fn title(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.resolve(py)?.title.clone())
    }

    fn duration_s(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.resolve(py)?.duration.as_secs_f64())
    }

    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.resolve(py)?.seed)
    }

    fn controls(&self, py: Python<'_>) -> PyResult<Vec<Option<String>>> {
        let scenario = self.resolve(py)?;
        if scenario.controls.is_empty() {
            return Ok(vec![None]);
        }
        Ok(scenario.labels().into_iter().map(Some).collect())
    }

    /// The names of the flows and of the links.
    fn names(&self, py: Python<'_>) -> PyResult<(Vec<String>, Vec<String>)> {
        let scenario = self.resolve(py)?;
        let flows = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        let links = scenario.links.iter().map(|link| link.name.clone()).collect();
        Ok((flows, links))
    }

    /// The most flows of a run, in which each random arrival is a flow.
    fn flows(&self, py: Python<'_>) -> PyResult<u64> {
        let scenario = self.resolve(py)?;
        let most = |flow: &Flow| match flow.has_arrivals() {
            true => flow.most_transfers(scenario.duration),
            false => 1,
        };
        Ok(scenario.flows.iter().map(most).sum())
    }

    fn is_random(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(sojourn_sim::is_random(self.resolve(py)?))
    }

    /// Memory in bytes that each completed run keeps, with or without its series.
    fn kept_bytes(&self, py: Python<'_>, series: bool) -> PyResult<u64> {
        Ok(sojourn_sim::kept(self.resolve(py)?, series).0)
    }

    fn memory_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(sojourn_sim::estimate(self.resolve(py)?).0)
    }

    /// Starts a run in real time. A watched run has readings of its bottleneck link.
    #[cfg(live)]
    fn live(
        &self,
        py: Python<'_>,
        control: usize,
        seed: u64,
        network: LiveNetwork,
        files: LiveFiles,
        is_watched: bool,
    ) -> PyResult<LiveRun> {
        let scenario = self.resolve(py)?.clone();
        let label = scenario.labels().get(control).cloned();
        let version = ip_version(network.ipv6);
        let stack = match network.stack.as_str() {
            "kernel" => Stack::Kernel,
            "udp" => Stack::Udp,
            other => return Err(value_error(format!("`{other}` is neither `kernel` nor `udp`"))),
        };
        let links = match network.bottleneck.as_str() {
            "sojourn" => Links::Sojourn,
            "tc" => Links::Kernel,
            other => return Err(value_error(format!("`{other}` is neither `sojourn` nor `tc`"))),
        };
        let departures = self::departures(&network.departures)?;
        let readings = is_watched.then(|| Readings::of_run(scenario.duration));
        let LiveFiles { pcapng, qlog, acks } = files;
        let options = Options {
            version,
            stack,
            links,
            departures,
            pcapng,
            qlog,
            traces_acks: acks.is_some(),
            readings,
            ..Options::default()
        };
        Ok(LiveRun::start(scenario, control, label, seed, options, acks))
    }

    /// Name of the link that a watched live run reads.
    #[cfg(live)]
    fn bottleneck(&self, py: Python<'_>) -> PyResult<&str> {
        Ok(sojourn_live::bottleneck(self.resolve(py)?))
    }

    /// The commands that make the links of a live run from the kernel's queues.
    #[cfg(live)]
    fn link_commands(&self, py: Python<'_>, seed: u64, ipv6: bool) -> PyResult<String> {
        let scenario = self.resolve(py)?;
        sojourn_live::commands(scenario, seed, ip_version(ipv6))
            .map_err(|error| LiveError::new_err(error.to_string()))
    }

    /// Sends the data of its only flow to the first of these addresses that is reachable.
    #[cfg(live)]
    fn send(
        &self,
        py: Python<'_>,
        addresses: Vec<String>,
        patience: &str,
        departures: &str,
    ) -> PyResult<Transfer> {
        self.refuse_stacks(py, "`send`")?;
        let departures = self::departures(departures)?;
        Transfer::start(self.resolve(py)?.clone(), &addresses, patience, departures)
    }

    /// Serves bodies over HTTP/3 with the controller of its only flow.
    #[cfg(live)]
    fn quic_serve(
        &self,
        py: Python<'_>,
        options: ServeOptions,
        files: Prefixes,
    ) -> PyResult<QuicServing> {
        QuicServing::start(self.resolve(py)?, options, files)
    }

    /// Downloads a URL over HTTP/3 from the first of these addresses that is reachable.
    #[cfg(live)]
    fn quic_get(
        &self,
        py: Python<'_>,
        addresses: Vec<String>,
        options: GetOptions,
        out: Option<PathBuf>,
        files: Prefixes,
    ) -> PyResult<QuicFetch> {
        QuicFetch::start(self.resolve(py)?, &addresses, options, out, files)
    }

    /// Loads the controller of its only flow into the kernel.
    #[cfg(live)]
    fn kernel_load(&self, py: Python<'_>) -> PyResult<KernelController> {
        KernelController::load(self.resolve(py)?)
    }

    /// Starts a program over the links of a flow. It ends with the calling thread.
    #[cfg(live)]
    fn shell(
        &self,
        py: Python<'_>,
        command: Vec<String>,
        flow: Option<String>,
        congestion: Option<String>,
        has_ecn: bool,
        server: Option<String>,
    ) -> PyResult<Shell> {
        let scenario = self.resolve(py)?;
        let seed = scenario.seed;
        let options = ShellOptions { flow, seed, congestion, has_ecn, server };
        py.detach(|| Shell::start(scenario, &command, &options))
    }

    #[pyo3(signature = (control, seed, pcapng = None, qlog = None))]
    fn simulation(
        &self,
        py: Python<'_>,
        control: usize,
        seed: u64,
        pcapng: Option<&str>,
        qlog: Option<&str>,
    ) -> PyResult<Simulation> {
        let failure = Failure::default();
        let scenario = self.resolve_for(py, &failure)?;
        let chosen = self::control(&scenario, control)?;
        let calls_python = self.calls_python(&scenario, chosen);
        let simulation = AnyRun::new(&scenario, chosen, seed, pcapng, qlog);
        let simulation = match scenario.labels().get(control) {
            Some(label) => simulation.labelled(label),
            None => simulation,
        };
        failure.raise(py)?;
        Ok(Simulation::new(simulation, calls_python.then_some(failure)))
    }
}

/// The keeper of departure times of this name.
#[cfg(live)]
fn departures(name: &str) -> PyResult<Departures> {
    let all = [Departures::Timer, Departures::Kernel];
    let unknown = || value_error(format!("`{name}` is neither `timer` nor `kernel`"));
    all.into_iter().find(|one| one.name() == name).ok_or_else(unknown)
}

#[cfg(live)]
fn ip_version(ipv6: bool) -> IpVersion {
    if ipv6 { IpVersion::V6 } else { IpVersion::V4 }
}
