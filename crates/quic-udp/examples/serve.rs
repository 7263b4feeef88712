//! Serves over HTTP/3: `cargo run -p sojourn-quic-udp --example serve -- 127.0.0.1:4433 prague .`

use std::path::Path;

use sojourn_quic::noq::Kit;
use sojourn_quic_udp::h3::{Content, Folder, Served};
use sojourn_quic_udp::tls::Identity;
use sojourn_quic_udp::{
    Figures, HttpServer, Limits, Observation, Resources, Serve, ServeObserver, Settings,
};

struct Print;

impl ServeObserver for Print {
    fn ended(&mut self, figures: &Figures, served: Served) {
        let (sent, state, late) = (figures.sent, &figures.state, &figures.lateness);
        println!(
            "{}: {} requests, {} bytes in {}; sent {} ECT(1), {} ECT(0), {} without ECN; {} marked, \
             {} lost; late p50 {:?} ns, p99 {:?} ns; {:?}",
            figures.remote,
            served.requests,
            served.body_bytes,
            figures.span(),
            sent.ect1,
            sent.ect0,
            sent.not_ect,
            state.marked,
            state.lost,
            late.quantile(0.5),
            late.quantile(0.99),
            figures.ending
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or("127.0.0.1:4433".to_owned()).parse()?;
    let control = args.next().unwrap_or("prague".to_owned());
    let folder = args.next().map(|path| Folder::open(Path::new(&path))).transpose()?;
    let serve = Serve {
        address,
        settings: Settings::new(Kit::new(&control)?),
        limits: Limits::default(),
        resources: Resources::default(),
        content: Content::new(folder),
        identity: Identity::made(address.ip())?,
        observation: Observation::default(),
    };
    let mut server = HttpServer::bind(serve, Print)?;
    println!("serving {}", server.local_addr());
    server.run()?;
    Ok(())
}
