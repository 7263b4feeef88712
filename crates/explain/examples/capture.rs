//! Explains a file of any kind: `cargo run -p sojourn-explain --example capture -- FILE [--json]
//! [--path] [--no-cures]`. `--path` leaves out the twin.

use std::error::Error;
use std::fs::File;

use sojourn_explain::observation::read;
use sojourn_explain::{ACCEPTED, Options, explain};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("name a file")?;
    let rest: Vec<String> = args.collect();
    let has = |option: &str| rest.iter().any(|arg| arg == option);
    let observation = read(&file, || File::open(&file), &|| false)?;
    let observation = observation.ok_or_else(|| format!("not {ACCEPTED}"))?;
    if let Some(damage) = &observation.damage {
        eprintln!("at byte {}: {}", damage.offset, damage.message);
    }
    let options = Options { twin: !has("--path"), cures: !has("--no-cures"), ..Options::default() };
    let found = explain(&observation, &options);
    match has("--json") {
        true => println!("{}", serde_json::to_string_pretty(&found)?),
        false => println!("{}", found.text.join("\n")),
    }
    Ok(())
}
