//! Downloads over HTTP/3, and trusts any certificate:
//! `cargo run -p sojourn-quic-udp --example get -- 127.0.0.1:4433 /bytes/1000000 4`

use sojourn_quic::noq::Kit;
use sojourn_quic_udp::tls::Trust;
use sojourn_quic_udp::{Fetch, Observation, Progress, Settings};
use sojourn_udp::io::StopHandle;
use sojourn_units::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let authority = args.next().unwrap_or("127.0.0.1:4433".to_owned());
    let fetch = Fetch {
        remote: authority.parse()?,
        name: "localhost".to_owned(),
        authority,
        path: args.next().unwrap_or("/bytes/1000000".to_owned()),
        count: args.next().map_or(Ok(1), |count| count.parse())?,
        settings: Settings::new(Kit::new("cubic")?),
        trust: Trust::Any,
        patience: Duration::from_secs(10),
        observation: Observation::default(),
        progress: Progress::default(),
    };
    let done = fetch.run(Box::new(|_| Ok(())), &StopHandle::default())?;
    for one in &done.responses {
        println!(
            "status {}: {} bytes in {}",
            one.status,
            one.bytes,
            one.ended_at.since(one.asked_at)
        );
    }
    println!("received {:?}", done.figures.received);
    Ok(())
}
