//! Writes the outcome of every scenario that ships into a folder: the bytes that
//! another build, or the Python module, is held against.
//!
//! `cargo run -p sojourn-sim --example outcomes -- FOLDER` writes, for run N of
//! `NAME.toml`, `NAME.N.summary.json`, `NAME.N.flows.parquet` and
//! `NAME.N.links.parquet`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use sojourn_scenario::{Document, Scenario};
use sojourn_sim::{Simulation, series_parquet};

fn main() -> Result<(), Box<dyn Error>> {
    let target = PathBuf::from(std::env::args().nth(1).ok_or("name a folder to write to")?);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            write_all(&path, &target)?;
        }
    }
    Ok(())
}

fn write_all(path: &Path, target: &Path) -> Result<(), Box<dyn Error>> {
    let scenario = read(path)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let labels = scenario.labels();
    for number in 0..scenario.controls.len().max(1) {
        let control = scenario.controls.get(number);
        let simulation = Simulation::new(&scenario, control, scenario.seed);
        let outcome = match labels.get(number) {
            Some(label) => simulation.labelled(label).finish(),
            None => simulation.finish(),
        };
        let write = |what: &str, bytes: Vec<u8>| {
            fs::write(target.join(format!("{name}.{number}.{what}")), bytes)
        };
        write("summary.json", serde_json::to_vec(&outcome.summary)?)?;
        write("flows.parquet", series_parquet(&[&outcome], false)?)?;
        write("links.parquet", series_parquet(&[&outcome], true)?)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<Scenario, Box<dyn Error>> {
    let file = |name: &str| fs::read_to_string(path.with_file_name(name));
    let document = Document::from_toml(&path.display().to_string(), &fs::read_to_string(path)?)?;
    Ok(document.resolve(&file)?)
}
