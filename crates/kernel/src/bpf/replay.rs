//! Replay of a controller's calls in the kernel, without a network.

use std::time::Duration;

use libbpf_rs::{Map, MapCore, MapFlags, Object, ProgramInput, ProgramMut};
use sojourn_units::params::Params;

use super::loaded::{open, query};
use crate::Error;

/// Events of one call of the program (`CHUNK` in `bpf/*.bpf.c`).
const CHUNK: usize = 1024;

/// A call of the controller (`struct event` in `bpf/event.h`).
pub type Event = [u64; 13];

/// The start of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Payload of a packet, in bytes.
    pub mss: u64,
    /// Initial window, in bytes.
    pub initial_window: u64,
}

/// The results, and the time in the kernel.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Window, threshold, and phase or alpha after each event (`struct result` in `bpf/event.h`).
    pub results: Vec<[u64; 3]>,
    /// Time of all calls of the program.
    pub time: Duration,
}

/// Runs the events of a connection, in the layout of `struct event` (`bpf/event.h`).
///
/// # Errors
/// Without privilege, or if the kernel refuses the programs.
pub fn run(name: &str, params: &Params, start: Start, events: &[Event]) -> Result<Outcome, Error> {
    let object = open(name, params)?;
    let program = object.progs_mut().find(|one| one.name() == "sojourn_replay");
    let program = program.expect("every object has a replay");
    let maps = ["events", "results"].map(|name| map(&object, name));
    let mut outcome = Outcome { results: Vec::with_capacity(events.len()), time: Duration::ZERO };
    for (place, chunk) in events.chunks(CHUNK).enumerate() {
        let first = if place == 0 { [start.mss, start.initial_window] } else { [0, 0] };
        put(&maps[0], chunk)?;
        let context = [first[0], first[1], chunk.len() as u64];
        outcome.time += call(&program, &context)?;
        take(&maps[1], chunk.len(), &mut outcome.results)?;
    }
    Ok(outcome)
}

fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object.maps().find(|map| map.name() == name).expect("every object has the maps of a replay")
}

fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

fn put(map: &Map<'_>, events: &[Event]) -> Result<(), Error> {
    let count = events.len() as u32;
    let keys: Vec<u8> = (0..count).flat_map(u32::to_ne_bytes).collect();
    let values = bytes(events.iter().flatten().copied());
    map.update_batch(&keys, &values, count, MapFlags::ANY, MapFlags::ANY)
        .map_err(query("pass events to the kernel"))
}

#[expect(clippy::disallowed_methods, reason = "the real time in the kernel")]
fn call(program: &ProgramMut<'_>, context: &[u64; 3]) -> Result<Duration, Error> {
    let mut context = bytes(context.iter().copied());
    let input = ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() };
    let before = std::time::Instant::now();
    program.test_run(input).map_err(query("run events in the kernel"))?;
    Ok(before.elapsed())
}

fn take(map: &Map<'_>, count: usize, results: &mut Vec<[u64; 3]>) -> Result<(), Error> {
    for index in 0..count as u32 {
        let value = map.lookup(&index.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(query("read results from the kernel"))?.unwrap_or_default();
        let words = value.as_chunks::<8>().0;
        results.push(std::array::from_fn(|place| u64::from_ne_bytes(words[place])));
    }
    Ok(())
}
