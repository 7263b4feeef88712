//! What a connection is built from.

use sojourn_cc::{AnyController, Catalogue, Needs};
use sojourn_params::Params;
use sojourn_transport::{Config, Profile};

use super::{Patience, check};

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

/// What a connection is built from.
pub struct Setup {
    /// Its settings.
    pub config: Config,
    /// What its controller needs.
    pub needs: Needs,
    /// Its controller.
    pub controller: AnyController,
    /// Its connection ID: a number that only the two ends know.
    pub id: u64,
    /// When it gives up.
    pub patience: Patience,
}

impl Setup {
    /// A connection with the controller `name` of `catalogue`; `None` if there is none of this name.
    ///
    /// # Errors
    /// If the transport lacks an input of the controller.
    pub fn new(
        catalogue: &Catalogue,
        (name, params): (&str, &Params),
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
