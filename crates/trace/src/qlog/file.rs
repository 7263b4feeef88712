//! The forms of a file: one JSON object with `traces`, or a sequence of JSON texts.

use std::io::{self, BufRead, Cursor, Read};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::fault::{Damage, Fault, Stop};
use super::json::Object;
use super::listener::Listener;
use super::source::{Each, Source, fault};
use super::trace::{Setup, Trace};
use super::{Limits, Log};

/// Record separator (RFC 7464 section 2.2).
const RS: u8 = 0x1e;

/// Bytes of memory that a byte of events can take, at most: an event `[1],` may begin a row.
const GROWTH: usize = 64;

/// A file being read.
pub(super) struct File<'a, R, L> {
    source: Source<R>,
    name: &'a str,
    limits: &'a Limits,
    /// How to read the events of each trace, from a previous reading.
    known: &'a [Setup],
    found: Vec<Trace<L>>,
    /// How to read the events of each trace: known at its end.
    setups: Vec<Setup>,
    /// Whether events were read before their trace said how.
    is_late: bool,
    /// Position at which the memory is counted next.
    counted_at: u64,
}

/// Reads a file. Fields of a trace that say how to read its events may follow them. In this case,
/// returns these instead of the events.
pub(super) fn read<R: BufRead, L: Listener>(
    mut from: R,
    name: &str,
    limits: &Limits,
    known: &[Setup],
) -> io::Result<Result<Log<L>, Vec<Setup>>> {
    let mut head = Vec::new();
    from.by_ref().take(limits.text as u64).read_until(b'\n', &mut head).or_else(ignored)?;
    let separator = separator(&head);
    let source = Source::new(Cursor::new(head).chain(from), limits.text);
    let mut file = File {
        source,
        name,
        limits,
        known,
        found: Vec::new(),
        setups: Vec::new(),
        is_late: false,
        counted_at: 0,
    };
    let done = match separator {
        Some(separator) => file.sequence(separator),
        None => file.contained(),
    };
    file.end(done)
}

/// An error of a decoder comes back at its place.
fn ignored(error: io::Error) -> io::Result<usize> {
    if error.kind() == io::ErrorKind::InvalidData { Ok(0) } else { Err(error) }
}

/// The separator of a sequence of texts; `None` for a single text.
fn separator(head: &[u8]) -> Option<u8> {
    if head.first() == Some(&RS) {
        return Some(RS);
    }
    let first: Head = serde_json::from_slice(head).ok()?;
    (first.trace.is_some() && first.traces.is_none()).then_some(b'\n')
}

/// Fields of a first text, whose values take no memory.
#[derive(Deserialize)]
struct Head {
    trace: Option<IgnoredAny>,
    traces: Option<IgnoredAny>,
}

impl<R: BufRead, L: Listener> File<'_, R, L> {
    fn end(mut self, done: Result<(), Stop>) -> io::Result<Result<Log<L>, Vec<Setup>>> {
        if self.is_late && self.known.is_empty() {
            return Ok(Err(self.setups));
        }
        self.found.iter_mut().for_each(Trace::finish);
        let events = self.found.iter().map(|trace| trace.events).sum();
        let damage = match done {
            Ok(()) => None,
            Err(Stop::Io(error)) => return Err(error),
            Err(Stop::Damage { at_byte, line, fault }) => {
                Some(Damage { at_byte, line, fault, events })
            }
        };
        self.found.retain(|trace| trace.events > 0);
        Ok(Ok(Log { traces: self.found, damage }))
    }

    fn sequence(&mut self, separator: u8) -> Result<(), Stop> {
        while let Some((begin, value)) = self.source.text(separator)? {
            let Some(trace) = self.found.first_mut() else {
                let header = value["trace"].as_object();
                let header = header.ok_or_else(|| fault(begin, Fault::NoHeader))?;
                let mut trace = Trace::new(self.name.to_owned());
                trace.describe(header);
                trace.set_up(Setup::of(header));
                self.found.push(trace);
                continue;
            };
            trace.add(value);
            self.count_memory(None)?;
        }
        Ok(())
    }

    fn contained(&mut self) -> Result<(), Stop> {
        let begin = self.source.here();
        let (mut is_qlog, mut is_header) = (false, false);
        let mut fields = Each::field(&mut self.source)?;
        while let Some(name) = fields.name(&mut self.source)? {
            if name == "traces" && self.source.peek()? == Some(b'[') {
                is_qlog = true;
                self.traces()?;
            } else {
                is_header |= name == "trace";
                self.source.value()?;
            }
        }
        match (is_qlog, is_header) {
            (true, _) => {}
            (false, true) => return Err(fault(begin, Fault::Pretty)),
            (false, false) => return Err(fault(begin, Fault::NoTraces)),
        }
        match self.source.peek()? {
            Some(_) => Err(fault(self.source.here(), Fault::After)),
            None => Ok(()),
        }
    }

    fn traces(&mut self) -> Result<(), Stop> {
        let mut items = Each::item(&mut self.source)?;
        while items.next(&mut self.source)? {
            if self.source.peek()? != Some(b'{') {
                return Err(fault(self.source.here(), Fault::NotTrace));
            }
            let (mut trace, mut about) = (self.new_trace(), Object::new());
            let done = self.trace(&mut trace, &mut about);
            self.end_trace(trace, &about);
            done?;
        }
        Ok(())
    }

    fn new_trace(&self) -> Trace<L> {
        let name = match self.found.len() {
            0 => self.name.to_owned(),
            before => format!("{}-{}", self.name, before + 1),
        };
        Trace::new(name)
    }

    fn trace(&mut self, trace: &mut Trace<L>, about: &mut Object) -> Result<(), Stop> {
        let mut fields = Each::field(&mut self.source)?;
        while let Some(name) = fields.name(&mut self.source)? {
            if name == "events" && self.source.peek()? == Some(b'[') {
                let known = self.known.get(self.setups.len());
                trace.set_up(known.cloned().unwrap_or_else(|| Setup::of(about)));
                self.events(trace)?;
            } else {
                let value = self.source.value()?;
                about.insert(name, value);
            }
        }
        Ok(())
    }

    fn events(&mut self, trace: &mut Trace<L>) -> Result<(), Stop> {
        let mut items = Each::item(&mut self.source)?;
        while items.next(&mut self.source)? {
            trace.add(self.source.value()?);
            self.count_memory(Some(trace))?;
        }
        Ok(())
    }

    fn end_trace(&mut self, mut trace: Trace<L>, about: &Object) {
        let setup = Setup::of(about);
        self.is_late |= trace.events > 0 && setup != *trace.setup();
        self.setups.push(setup);
        // A trace that another program could not read (draft-ietf-quic-qlog-main-schema-13).
        if !about.contains_key("error_description") {
            trace.describe(about);
            self.found.push(trace);
        }
    }

    /// Stops before the events take more memory than the limit. Counts rarely: before the limit
    /// can be reached.
    fn count_memory(&mut self, open: Option<&Trace<L>>) -> Result<(), Stop> {
        let here = self.source.here();
        if here.at < self.counted_at {
            return Ok(());
        }
        let weight = self.found.iter().chain(open).map(Trace::weight).sum::<usize>();
        let Some(left) = self.limits.memory.checked_sub(weight) else {
            return Err(fault(here, Fault::Memory { limit: self.limits.memory }));
        };
        self.counted_at = here.at + (left / GROWTH).max(1 << 10) as u64;
        Ok(())
    }
}
