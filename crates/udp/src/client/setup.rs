//! Arguments of a connection's constructor.

use sojourn_cc::{AnyController, Catalogue, EcnUse, Needs};
use sojourn_transport::{Config, EcnFeedback, Profile};
use sojourn_units::params::Params;

use super::Patience;

/// A controller that this transport refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{controller}` needs {need}, which this connection does not have: {remedy}")]
pub struct Refusal {
    /// Its name.
    pub controller: String,
    /// The missing input.
    pub need: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// Arguments of a connection's constructor.
pub struct Setup {
    /// Its settings.
    pub config: Config,
    /// The needs of its controller.
    pub needs: Needs,
    /// Its controller.
    pub controller: AnyController,
    /// Its connection ID: a number that only the two ends know.
    pub id: u64,
    /// When it gives up.
    pub patience: Patience,
}

impl Setup {
    /// A connection with the controller `name` of `catalogue`; `None` if the name is unknown.
    ///
    /// # Errors
    /// If the transport lacks an input of the controller.
    pub fn new(
        catalogue: &Catalogue,
        name: &str,
        params: &Params,
        config: Config,
        seed: u64,
        id: u64,
    ) -> Result<Option<Setup>, Refusal> {
        let Some(needs) = catalogue.needs(name, params) else { return Ok(None) };
        check(name, &needs, &config)?;
        let setup = sojourn_cc::Setup {
            mss: config.mss,
            initial_window: config.mss * config.initial_window,
            paced: config.pacing,
            round_recovery: config.profile == Profile::Quic,
            seed,
            params: params.clone(),
        };
        let controller = catalogue.build(name, &setup);
        let patience = Patience::default();
        Ok(controller.map(|controller| Setup { config, needs, controller, id, patience }))
    }
}

/// Whether the inputs that a controller needs are there.
///
/// # Errors
/// The first input that is missing.
fn check(name: &str, needs: &Needs, config: &Config) -> Result<(), Refusal> {
    let refuse = |need, remedy| Err(Refusal { controller: name.to_owned(), need, remedy });
    if needs.signal {
        return refuse("signals from the bottleneck", "run it in the simulator");
    }
    if config.ack_frequency > 0 || config.immediate_ack {
        return refuse(
            "acknowledgements without requests",
            "remove host.ack_frequency, or simulate the scenario",
        );
    }
    if config.initial_receive_window.is_some() {
        return refuse(
            "a fixed receive window",
            "choose a host with a fixed one, such as udp, or simulate the scenario",
        );
    }
    if config.small_queues.is_some() {
        return refuse("the host's own queue", "remove `ring` from its first link, or simulate it");
    }
    if needs.media {
        return refuse("a media source", "run it in the simulator");
    }
    if needs.receive_times && !config.receive_times {
        return refuse("receive times of single packets", "set host.receive_times to true");
    }
    let counts = matches!(needs.ecn, EcnUse::Counts | EcnUse::L4s);
    if counts && !config.has_ecn(needs) {
        return refuse("exact counts of ECN marks", "set host.ecn to true");
    }
    if counts && config.ecn_feedback == EcnFeedback::Classic {
        return refuse("exact counts of ECN marks", "set host.ecn_feedback to \"accurate\"");
    }
    Ok(())
}
