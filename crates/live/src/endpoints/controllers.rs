//! The kernel's controllers of a run: its own, or Sojourn's, loaded for the run.

use sojourn_kernel::{Loaded, Registered, kernel_name};
use sojourn_scenario::{Flow, Scenario};
use sojourn_units::params::Params;

use crate::error::Error;
use crate::order::{Order, Stack};

/// Controllers that this run has loaded. They are unregistered when it ends.
#[derive(Default)]
pub(crate) struct KernelControllers {
    /// The names of the kernel's own controllers.
    own: Vec<String>,
    loaded: Vec<Ready>,
}

/// A controller of Sojourn in the kernel.
struct Ready {
    name: String,
    kernel_name: String,
    /// Its parameters (`sojourn_kernel::words`).
    words: Vec<u64>,
    /// `None` if another process has loaded it.
    _loaded: Option<Loaded>,
}

impl KernelControllers {
    /// Loads the controllers that the kernel lacks, of the flows without a stack of their own. Flows
    /// over UDP need none.
    pub(crate) fn load(order: &Order<'_>) -> Result<KernelControllers, Error> {
        if order.options.stack == Stack::Udp {
            return Ok(KernelControllers::default());
        }
        let mut all = KernelControllers { own: kernels_own(), loaded: Vec::new() };
        for (flow, control) in order.flows().filter(|(flow, _)| flow.stack.is_none()) {
            let Some((kind, params)) = control else { continue };
            if all.has(kind) {
                require_defaults(order.scenario, flow, kind, params)?;
            } else if sojourn_kernel::is_supported(kind) {
                all.require(flow, kind, params)?;
            } else {
                return Err(Error::Controller {
                    flow: flow.name.clone(),
                    name: kind.to_owned(),
                    available: all.available(),
                });
            }
        }
        Ok(all)
    }

    /// The kernel's name of a controller.
    pub(crate) fn name<'a>(&'a self, kind: &'a str) -> &'a str {
        let ready = self.loaded.iter().find(|one| one.name == kind);
        ready.map_or(kind, |one| &one.kernel_name)
    }

    /// Whether it is a controller of Sojourn. Those of ECN negotiate it by themselves.
    pub(crate) fn is_of_sojourn(&self, kind: &str) -> bool {
        self.loaded.iter().any(|one| one.name == kind)
    }

    fn has(&self, kind: &str) -> bool {
        self.own.iter().any(|name| name == kind)
    }

    fn available(&self) -> String {
        let own = self.own.iter().filter(|name| !name.starts_with("sojourn_"));
        let addable = sojourn_kernel::names().filter(|name| !self.has(name));
        let all: Vec<String> = own.cloned().chain(addable.map(str::to_owned)).collect();
        all.join(", ")
    }

    /// Makes a controller ready for a flow: loads it, unless it is loaded already.
    fn require(&mut self, flow: &Flow, kind: &str, params: &Params) -> Result<(), Error> {
        let words = sojourn_kernel::words(sojourn_kernel::declared(kind), params);
        if !self.loaded.iter().any(|one| one.name == kind) {
            let made = self.make_ready(kind, params, &words);
            let failed = |error| Error::Load { flow: flow.name.clone(), error };
            self.loaded.push(made.map_err(failed)?);
        }
        if self.loaded.iter().any(|one| one.name == kind && one.words != words) {
            return Err(Error::Unsupported {
                flow: flow.name.clone(),
                what: format!("the kernel's `{kind}` with several sets of parameters"),
                remedy: "use one set in all flows, and unload the controller first if another \
                         process has loaded it (sojourn kernel status)",
            });
        }
        Ok(())
    }

    fn make_ready(
        &self,
        kind: &str,
        params: &Params,
        words: &[u64],
    ) -> Result<Ready, sojourn_kernel::Error> {
        let kernel_name = kernel_name(kind);
        let present = match self.has(&kernel_name) {
            true => sojourn_kernel::registered()?.into_iter().find(|one| one.name == kind),
            false => None,
        };
        let name = kind.to_owned();
        if let Some(Registered { words, .. }) = present {
            return Ok(Ready { name, kernel_name, words, _loaded: None });
        }
        let _loaded = Some(sojourn_kernel::load(kind, params)?);
        Ok(Ready { name, kernel_name, words: words.to_vec(), _loaded })
    }
}

/// Refuses parameters, which the kernel's own controllers do not take.
fn require_defaults(
    scenario: &Scenario,
    flow: &Flow,
    kind: &str,
    params: &Params,
) -> Result<(), Error> {
    let declared = scenario.controllers.find(kind).map_or(&[][..], |info| info.params);
    let defaults = Params::defaults(declared);
    if params.iter().ne(defaults.iter()) {
        return Err(Error::Unsupported {
            flow: flow.name.clone(),
            what: format!("the kernel's `{kind}` with these parameters"),
            remedy: "leave them out, or use Sojourn's own transport (--stack udp)",
        });
    }
    Ok(())
}

/// The kernel's congestion controllers.
pub(crate) fn kernels_own() -> Vec<String> {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}
