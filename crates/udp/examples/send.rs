//! Sends for ten seconds: `cargo run -p sojourn-udp --example send -- 127.0.0.1:4433 prague`.

use sojourn_cc::Catalogue;
use sojourn_transport::{Config, Profile};
use sojourn_udp::io::{Endpoint, Load, Plan};
use sojourn_units::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or("127.0.0.1:4433".to_owned());
    let control = args.next().unwrap_or("cubic".to_owned());
    let times = Catalogue::shipped().find(&control).is_some_and(|info| info.needs.receive_times);
    let profile = if times { Profile::Quic } else { Profile::Tcp };
    let plan = Plan {
        config: Config::new(profile),
        duration: Duration::from_secs(10),
        ..Plan::new(&control, Load::Endless)
    };
    let outcome = Endpoint::new(address.parse()?).send(plan, &mut ())?;
    println!("{:#?}", outcome.summary);
    let late = &outcome.punctuality.lateness;
    println!("late: p50 {:?} ns, p99 {:?} ns", late.quantile(0.5), late.quantile(0.99));
    outcome.notes.iter().for_each(|note| println!("{note}"));
    Ok(())
}
