//! What is wrong with a document, and where.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::tree::Span;

/// A text that a document was read from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its file, or the option that it was given with.
    pub(crate) origin: String,
    pub(crate) text: String,
}

/// Where in a document: by place in a source and by path of keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct At {
    pub(crate) span: Option<Span>,
    pub(crate) path: String,
}

impl At {
    /// The last key of the path, with its table where it is only a place in a list.
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

/// A line of another file that shows what is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) at: At,
    pub(crate) message: String,
    pub(crate) help: String,
    pub(crate) evidence: Option<Box<Evidence>>,
}

impl Problem {
    pub(crate) fn new(at: &At, message: impl Into<String>, help: impl Into<String>) -> Problem {
        Problem { at: at.clone(), message: message.into(), help: help.into(), evidence: None }
    }
}

/// A place in a text: line and column from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// One thing that is wrong, for machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The file, or the option, that holds it.
    pub origin: String,
    /// Where in it; none where the document was built by a program.
    pub position: Option<Position>,
    /// The keys that lead to it, joined by dots; empty for the whole document.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

/// Everything that is wrong with a document, in the order of its text.
///
/// `Display` shows each with the line that it stands in.
#[derive(Clone, Debug)]
pub struct Errors {
    sources: Vec<Source>,
    problems: Vec<Problem>,
}

/// More than anybody reads at once.
const SHOWN: usize = 20;

impl Errors {
    pub(crate) fn new(sources: &[Source], mut problems: Vec<Problem>) -> Errors {
        problems.sort_by_key(|problem| problem.at.span);
        Errors { sources: sources.to_vec(), problems }
    }

    /// Every problem for machines; never empty.
    pub fn items(&self) -> Vec<Item> {
        self.problems.iter().map(|problem| self.item(problem)).collect()
    }

    /// The same as `Display`, with the colours of a terminal (ANSI escapes).
    pub fn to_ansi(&self) -> String {
        self.render(&Renderer::styled())
    }

    fn item(&self, problem: &Problem) -> Item {
        let place = problem.at.span.map(|span| self.place(span));
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

    fn place(&self, span: Span) -> Place<'_> {
        Place::of(&self.sources[span.source].text, span)
    }

    fn render(&self, renderer: &Renderer) -> String {
        let shown = self.problems.iter().take(SHOWN);
        let mut parts: Vec<_> =
            shown.map(|problem| renderer.render(&[self.group(problem)])).collect();
        if self.problems.len() > SHOWN {
            parts.push(format!("and {} more", self.problems.len() - SHOWN));
        }
        parts.join("\n\n")
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let title = Level::ERROR.primary_title(problem.message.as_str());
        let origin = self.source(problem).origin.as_str();
        let group = match problem.at.span.map(|span| self.place(span)) {
            Some(place) => title.element(place.snippet(origin)),
            None if problem.at.path.is_empty() => title.element(Origin::path(origin)),
            None => title.element(Origin::path(format!("{origin}: {}", problem.at.path))),
        };
        let group = match &problem.evidence {
            Some(evidence) => group.element(evidence.snippet()),
            None => group,
        };
        group.element(Level::HELP.message(problem.help.as_str()))
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
            .path(self.file.as_str())
            .line_start(self.line)
            .annotation(AnnotationKind::Primary.span(0..self.text.len()))
    }
}

/// The line that a span begins in.
struct Place<'a> {
    position: Position,
    line: &'a str,
    /// Within `line`.
    range: std::ops::Range<usize>,
}

impl<'a> Place<'a> {
    fn of(text: &'a str, span: Span) -> Place<'a> {
        let start = boundary(text, span.start);
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[begin..].lines().next().unwrap_or("");
        let from = boundary(line, start - begin);
        let to = boundary(line, span.end.saturating_sub(begin)).max(from);
        let position = Position {
            line: text[..begin].matches('\n').count() + 1,
            column: line[..from].chars().count() + 1,
        };
        Place { position, line, range: from..to }
    }

    fn snippet(self, origin: &'a str) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        Snippet::source(self.line)
            .path(origin)
            .line_start(self.position.line)
            .annotation(AnnotationKind::Primary.span(self.range))
    }
}

/// The last boundary between characters at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
