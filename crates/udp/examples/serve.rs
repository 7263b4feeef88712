//! Receives data: `cargo run -p sojourn-udp --example serve -- 0.0.0.0:4433`.

use sojourn_udp::io::{Server, ServerObserver};
use sojourn_udp::server::{Limits, PeerReport};

struct Print;

impl ServerObserver for Print {
    fn ended(&mut self, peer: &PeerReport) {
        let (receipt, seconds) = (&peer.receipt, peer.span.as_secs_f64());
        println!(
            "{}: {:?} after {seconds:.1} s, {} bytes, {} packets, {:?}",
            peer.address, peer.ending, receipt.bytes, receipt.packets, receipt.counts
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("0.0.0.0:4433".to_owned());
    let mut server = Server::bind(address.parse()?, Limits::default())?;
    println!("serving {}", server.local_addr());
    server.run(&mut Print)?;
    Ok(())
}
