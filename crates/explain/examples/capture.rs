//! Explains a capture: `cargo run -p sojourn-explain --example capture -- FILE [--json]`.

use std::error::Error;
use std::fs::File;

use sojourn_explain::observation::Observer;
use sojourn_explain::{Options, explain};
use sojourn_trace::capture::Capture;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("name a capture")?;
    let is_json = args.any(|arg| arg == "--json");
    let mut observer = Observer::new();
    if let Err(error) = observer.read(&mut Capture::new(File::open(file)?), u64::MAX) {
        eprintln!("{error}");
    }
    let found = explain(&observer.finish(), &Options::default());
    match is_json {
        true => println!("{}", serde_json::to_string_pretty(&found)?),
        false => println!("{}", found.text.join("\n")),
    }
    Ok(())
}
