//! Programs over the links of a scenario.

use std::time::Duration;

use sojourn_live::{Error, Shell, ShellOptions};

use crate::common::{ONE, leave_out, one_flow, scenario};

fn shell(script: &str, options: &ShellOptions) -> Result<Shell, Error> {
    let scenario = scenario(&one_flow(1, "cubic", "rate = \"10Mbit\"", ""));
    let command = ["sh", "-c", script].map(str::to_owned);
    Shell::start(&scenario, &command, options)
}

#[test]
fn a_program_has_a_peer_and_its_status() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let options = ShellOptions::default();
    let shell = shell("test $SOJOURN_PEER = 10.54.0.1 && exit 7", &options);
    let Some(mut shell) = shell.map_or_else(|error| leave_out(&error), Some) else { return };
    let mut status = None;
    while status.is_none() {
        status = shell.wait(Duration::from_millis(20)).expect("the links run");
    }
    assert_eq!((status, shell.ended_by()), (Some(7), None));
    let report = shell.finish().expect("the links run");
    let names: Vec<&str> = report.links.iter().map(|link| &*link.name).collect();
    assert_eq!((&*report.flow, &*report.bottleneck), ("bulk", "bottleneck"));
    assert_eq!(names, ["bottleneck", "back"]);
    assert_eq!(report.accounts.entered, 0);
}

#[test]
fn a_flow_that_the_scenario_lacks_is_refused() {
    let options = ShellOptions { flow: Some("none".to_owned()), ..ShellOptions::default() };
    let error = shell("true", &options).err().expect("the scenario lacks it");
    assert!(error.to_string().contains("it has bulk"), "{error}");
}
