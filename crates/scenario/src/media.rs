//! Checks of flows of media, and of the controllers that set the rate of an encoder.

use crate::source::{Carrier, UDP_IP_HEADERS};
use sojourn_cc::{EcnUse, Needs};

use crate::check::Checker;
use crate::checked::{Checked, Fields};
use crate::error::At;
use crate::host;
use crate::model::{Control, Source, Transport};
use crate::needs::Governed;

/// Refuses connection settings of a flow of media, which has no connection, and requires a path for
/// the reports to a controller.
pub(crate) fn check_flow(checker: &mut Checker, flow: &Fields, source: Option<&Source>) {
    let Some(source) = source.filter(|source| source.carrier() == Carrier::Media) else { return };
    let name = source.info().name;
    let is_controlled =
        flow.get("control").and_then(Checked::variant).is_none_or(|(kind, _)| kind != "none");
    if let (true, true, Some(given)) =
        (is_controlled, flow.list("back").is_empty(), flow.get("source"))
    {
        let message = format!("a controlled flow of `{name}` needs a path for its reports");
        checker.report(&given.at, message, "name the links of the reports in `back`");
    }
    let params = source.params();
    let waits = params.choice("repair") == "key-frame" && params.time("key_interval").0 == 0;
    if let (true, false, Some(given)) = (waits, is_controlled, flow.get("source")) {
        let message = "after a loss, the decoder would wait forever for a key frame".to_owned();
        let help = "give the flow a controller, whose reports request key frames, or its source a \
                    `key_interval`";
        checker.report(&given.at, message, help);
    }
    let why = format!("a flow of `{name}` has no connection");
    host::refuse(checker, flow, &why, "the keys of the source describe its RTP packets");
}

/// Sets the size of a full packet and its headers: an RTP packet in UDP and IP.
pub(crate) fn set_packet(transport: &mut Transport, source: Option<&Source>) {
    let Some(source) = source.filter(|source| source.carrier() == Carrier::Media) else { return };
    transport.mss = source.params().data("packet");
    transport.header = UDP_IP_HEADERS;
}

/// Refuses a controller of media for other data, another controller for media, and a format of
/// feedback without an input that the controller needs. Returns whether the flow has a transport
/// whose inputs are to be checked.
pub(crate) fn check_control(
    checker: &mut Checker,
    control: &Control,
    needs: &Needs,
    flow: &Governed<'_>,
    at: &At,
) -> bool {
    let Governed { name: flow, source, .. } = *flow;
    let (name, kind) = (control.name(), source.info().name);
    if source.carrier() != Carrier::Media {
        if needs.media {
            let message =
                format!("`{name}` controls media, but the source of `{flow}` is `{kind}`");
            let help = format!("set flow.{flow}.source to \"media\", or choose another controller");
            checker.report(at, message, help);
        }
        return !needs.media;
    }
    if !needs.media {
        let message = format!("`{name}` sets no rate for the encoder of flow `{flow}`");
        let infos = checker.known.controllers.infos();
        let names: Vec<&str> =
            infos.filter(|info| info.needs.media).map(|info| info.name).collect();
        let help = format!("choose one of {}, or none for a constant rate", names.join(", "));
        checker.report(at, message, help);
        return false;
    }
    if needs.rate_samples {
        let message = format!("`{name}` needs delivery-rate samples, which media does not have");
        checker.report(at, message, "choose another controller");
    }
    if needs.ecn != EcnUse::None && source.params().choice("feedback") == "transport-wide" {
        let message = format!("`{name}` needs ECN marks, which flow `{flow}` does not report");
        let help = format!("set flow.{flow}.source.feedback to \"rfc8888\"");
        checker.report(at, message, help);
    }
    false
}
