//! Problems of a document, with their positions.

use std::borrow::Cow;
use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::shown::{shown, shown_c1};
use crate::tree::Span;

/// A text that a document was read from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its file, or the option that contained it.
    pub(crate) origin: String,
    pub(crate) text: String,
}

/// A position in a document: a place in a source, and a path of keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct At {
    pub(crate) span: Option<Span>,
    pub(crate) path: String,
}

impl At {
    /// The last key of the path; for an index into a list, with its table.
    pub(crate) fn subject(&self) -> &str {
        let mut from = self.path.len();
        for part in self.path.rsplit('.') {
            from -= part.len();
            if part.parse::<usize>().is_err() {
                break;
            }
            from = from.saturating_sub(1);
        }
        &self.path[from..]
    }

    /// The table in words: its path in quotes, or the whole scenario.
    pub(crate) fn table(&self) -> String {
        match self.path.as_str() {
            "" => "the scenario".to_owned(),
            path => format!("`{path}`"),
        }
    }

    pub(crate) fn below(&self, key: &str, span: Option<Span>) -> At {
        let path = match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        };
        At { span, path }
    }
}

/// A line of another file that shows the problem.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// One problem.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) at: At,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) evidence: Option<Box<Evidence>>,
}

impl Problem {
    pub(crate) fn new(at: &At, message: impl Into<String>, help: impl Into<String>) -> Problem {
        let (message, help) = (short(message.into()), short(help.into()));
        Problem { at: at.clone(), message, help, evidence: None }
    }
}

/// Greatest length of a sentence in bytes: a name in it may be megabytes long.
const SENTENCE: usize = 2000;

/// The sentence, with its middle removed if it is too long.
fn short(sentence: String) -> String {
    if sentence.len() <= SENTENCE {
        return sentence;
    }
    let (from, to) = (SENTENCE / 2, sentence.len() - SENTENCE / 2);
    format!(
        "{} ... {}",
        &sentence[..boundary(&sentence, from)],
        &sentence[boundary(&sentence, to)..]
    )
}

/// A position in a text: line and column from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// One problem, for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The file or option that contains it.
    pub origin: String,
    /// Its position there; `None` for a document built by a program.
    pub position: Option<Position>,
    /// The keys of its path, joined by dots; empty for the whole document.
    pub path: String,
    /// The fault.
    pub message: String,
    /// The correct form.
    pub help: String,
}

/// Problems in the order of their discovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    kept: Vec<Problem>,
    /// Number of problems after the first [`Problems::MOST`].
    more: usize,
}

impl Problems {
    /// Number of stored problems. A document of megabytes may have one in each line, and each costs
    /// a search for the nearest name and a line of text.
    const MOST: usize = 100;

    /// Adds the problem that `build` makes, unless the limit is reached.
    pub(crate) fn add(&mut self, build: impl FnOnce() -> Problem) {
        if self.kept.len() < Problems::MOST {
            self.kept.push(build());
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.kept.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems { kept: vec![problem], more: 0 }
    }
}

/// The problems of a document, in the order of its text: all, or the first hundred found.
///
/// `Display` shows the first of them, each with its line.
#[derive(Clone, Debug)]
pub struct Errors {
    sources: Vec<Source>,
    /// Each with its line, from 1; 1 for one without a position.
    problems: Vec<(usize, Problem)>,
    /// Number of further problems.
    more: usize,
}

/// More than a user reads at once.
const SHOWN: usize = 20;

impl Errors {
    pub(crate) fn new(sources: &[Source], problems: Problems) -> Errors {
        let Problems { mut kept, more } = problems;
        kept.sort_by_key(|problem| problem.at.span);
        let lines = lines(sources, &kept);
        let problems = lines.into_iter().zip(kept).collect();
        Errors { sources: sources.to_vec(), problems, more }
    }

    /// One fault in a text, such as an argument of a command.
    pub fn in_text(
        origin: &str,
        text: &str,
        range: std::ops::Range<usize>,
        message: &str,
        help: &str,
    ) -> Errors {
        let source = Source { origin: origin.to_owned(), text: text.to_owned() };
        let span = Span { source: 0, start: range.start, end: range.end };
        let at = At { span: Some(span), path: String::new() };
        Errors::new(&[source], Problem::new(&at, message, help).into())
    }

    /// The problems for programs; never empty.
    pub fn items(&self) -> Vec<Item> {
        self.problems.iter().map(|(line, problem)| self.item(*line, problem)).collect()
    }

    /// Number of problems beyond [`Errors::items`].
    pub fn more(&self) -> usize {
        self.more
    }

    /// The same as `Display`, with the colours of a terminal (ANSI escapes).
    pub fn to_ansi(&self) -> String {
        self.render(&Renderer::styled())
    }

    fn item(&self, line: usize, problem: &Problem) -> Item {
        let place = problem.at.span.map(|span| self.place(line, span));
        Item {
            origin: self.source(problem).origin.clone(),
            position: place.map(|place| place.position),
            path: problem.at.path.clone(),
            message: problem.message.clone(),
            help: problem.help.clone(),
        }
    }

    fn source(&self, problem: &Problem) -> &Source {
        &self.sources[problem.at.span.map_or(0, |span| span.source)]
    }

    fn place(&self, line: usize, span: Span) -> Place<'_> {
        Place::of(&self.sources[span.source].text, line, span)
    }

    fn render(&self, renderer: &Renderer) -> String {
        let shown = self.problems.iter().take(SHOWN);
        let mut parts: Vec<_> =
            shown.map(|(line, problem)| renderer.render(&[self.group(*line, problem)])).collect();
        let more = self.problems.len().saturating_sub(SHOWN) + self.more;
        if more > 0 {
            parts.push(format!("and {more} more"));
        }
        shown_c1(parts.join("\n\n"))
    }

    fn group<'a>(&'a self, line: usize, problem: &'a Problem) -> Group<'a> {
        let title = Level::ERROR.primary_title(shown(&problem.message));
        let origin = shown(&self.source(problem).origin);
        let group = match problem.at.span.map(|span| self.place(line, span)) {
            Some(place) => title.element(place.snippet(origin)),
            None if problem.at.path.is_empty() => title.element(Origin::path(origin)),
            None => title.element(Origin::path(format!("{origin}: {}", shown(&problem.at.path)))),
        };
        let group = match &problem.evidence {
            Some(evidence) => group.element(evidence.snippet()),
            None => group,
        };
        group.element(Level::HELP.message(shown(&problem.help)))
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Renderer::plain()))
    }
}

impl std::error::Error for Errors {}

impl Evidence {
    fn snippet(&self) -> Snippet<'_, annotate_snippets::Annotation<'_>> {
        Snippet::source(self.text.as_str())
            .path(shown(&self.file))
            .line_start(self.line)
            .annotation(AnnotationKind::Primary.span(0..self.text.len()))
    }
}

/// The line of each of `problems`, which are in the order of their positions. Reads each source
/// once.
fn lines(sources: &[Source], problems: &[Problem]) -> Vec<usize> {
    let (mut source, mut read, mut line) = (0, 0, 1);
    let of = |problem: &Problem| {
        let Some(span) = problem.at.span else { return 1 };
        if span.source != source {
            (source, read, line) = (span.source, 0, 1);
        }
        let bytes = sources[source].text.as_bytes();
        let start = span.start.min(bytes.len());
        line += bytes[read..start].iter().filter(|byte| **byte == b'\n').count();
        read = start;
        line
    };
    problems.iter().map(of).collect()
}

/// The first line of a span, or the part of a long line near the span.
struct Place<'a> {
    position: Position,
    line: &'a str,
    /// Range within `line`.
    range: std::ops::Range<usize>,
}

/// Bytes of a line shown on each side of a problem's start: wider than a screen. A document may be
/// one line of megabytes.
const AROUND: usize = 200;

impl<'a> Place<'a> {
    fn of(text: &'a str, line_number: usize, span: Span) -> Place<'a> {
        let start = boundary(text, span.start);
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let column = text[begin..start].chars().count() + 1;
        let first = boundary(text, start.saturating_sub(AROUND).max(begin));
        let last = boundary(text, start + AROUND);
        let line = text[first..last].lines().next().unwrap_or("");
        let from = boundary(line, start - first);
        let to = boundary(line, span.end.saturating_sub(first)).max(from);
        let position = Position { line: line_number, column };
        Place { position, line, range: from..to }
    }

    fn snippet(self, origin: Cow<'a, str>) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        Snippet::source(self.line)
            .path(origin)
            .line_start(self.position.line)
            .annotation(AnnotationKind::Primary.span(self.range))
    }
}

/// The last character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
