//! The colours and the dashes of controllers, for every figure and table.
//!
//! Lines of one dash, of different controllers, differ by a CIEDE2000 of 12 or more, to normal vision and to protanopes,
//! deuteranopes and tritanopes; so do the looks of other names among themselves. Any two looks differ by 8
//! or more to normal vision. Each colour has a contrast of 3 or more to its ground (WCAG 2.2, 1.4.11).
//! `tests/python/test_palette.py` computes all of it.

use serde::Serialize;

use crate::verdict::PartKind;

/// The look of a controller's line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ink {
    /// The controller; empty for a look that other names share.
    pub name: &'static str,
    /// The colour on white, such as `#0072b2`.
    pub light: &'static str,
    /// The colour on a dark ground.
    pub dark: &'static str,
    /// The place of its dash in [`DASHES`].
    pub dash: usize,
}

/// Lengths of strokes and gaps in pixels. First lines of controllers have the first two. A further
/// line has the second one after its former, so no controller of the other dash ever has it, and after
/// all of them the next of [`WEIGHTS`].
pub const DASHES: &[&[u32]] = &[
    &[],
    &[7, 3],
    &[9, 3, 2, 3],
    &[2, 2],
    &[14, 4],
    &[9, 3, 2, 3, 2, 3],
    &[2, 6],
    &[18, 3, 2, 3],
    &[14, 3, 5, 3],
    &[3, 8],
    &[5, 2, 5, 7],
    &[9, 2, 2, 2, 2, 2, 2, 2],
];

/// Widths of lines over the usual one: those of flows that share a colour and a dash.
pub const WEIGHTS: &[f64] = &[1.0, 2.2, 0.5, 3.4];

/// The colour of a bound, on white and on a dark ground.
pub const BOUND: (&str, &str) = ("#d0006f", "#ff6fb5");

/// The look of a part of a delay in the picture of a verdict.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PartInk {
    /// Its name in `summary.json`.
    pub name: PartKind,
    /// Its name in a legend.
    pub label: &'static str,
    /// The colour on white.
    pub light: &'static str,
    /// The colour on a dark ground.
    pub dark: &'static str,
    /// The character of its bar in a terminal.
    pub block: char,
}

/// The looks of the parts of a delay, in the order of a bar. They differ by 12 or more to everyone, and
/// by 8 or more from the looks of controllers to normal vision.
pub const PARTS: &[PartInk] = &[
    part(PartKind::Unavoidable, "unavoidable", ("#8a8a8a", "#8a8a8a"), '░'),
    part(PartKind::Queue, "standing queue", ("#a87800", "#f0a818"), '▒'),
    part(PartKind::Faster, "sent faster before it could know", ("#480030", "#fff0ff"), '▓'),
    part(PartKind::Late, "late reaction", ("#a80030", "#d81818"), '█'),
    part(PartKind::Avoidable, "avoidable", ("#1878a8", "#18a8ff"), '▚'),
];

const fn part(
    name: PartKind,
    label: &'static str,
    (light, dark): (&'static str, &'static str),
    block: char,
) -> PartInk {
    PartInk { name, label, light, dark, block }
}

/// The looks of all shipped controllers, in the order of the catalogue, then those of other names.
pub const INKS: &[Ink] = &[
    Ink { name: "reno", light: "#a56996", dark: "#d287b4", dash: 0 },
    Ink { name: "cubic", light: "#0078ff", dark: "#a5b4ff", dash: 0 },
    Ink { name: "bbr", light: "#d2781e", dark: "#ff780f", dash: 0 },
    Ink { name: "bbr3", light: "#0f2dff", dark: "#7869b4", dash: 0 },
    Ink { name: "copa", light: "#5a692d", dark: "#a5c378", dash: 0 },
    Ink { name: "dctcp", light: "#009669", dark: "#69b496", dash: 0 },
    Ink { name: "prague", light: "#5a2d00", dark: "#96693c", dash: 0 },
    Ink { name: "vegas", light: "#96871e", dark: "#d2d25a", dash: 1 },
    Ink { name: "ledbat", light: "#964b00", dark: "#e15a1e", dash: 1 },
    Ink { name: "ledbat++", light: "#c37878", dark: "#ffb4d2", dash: 1 },
    Ink { name: "swift", light: "#1e96d2", dark: "#2d78a5", dash: 1 },
    Ink { name: "vivace", light: "#4b4b96", dark: "#b496d2", dash: 1 },
    Ink { name: "lola", light: "#783c96", dark: "#a578ff", dash: 0 },
    Ink { name: "ideal", light: "#1e1e1e", dark: "#e1e1e1", dash: 0 },
    Ink { name: "rapid", light: "#78000f", dark: "#a5695a", dash: 1 },
    Ink { name: "scream", light: "#005aff", dark: "#7878ff", dash: 1 },
    Ink { name: "nada", light: "#4b784b", dark: "#78e1a5", dash: 1 },
    Ink { name: "gcc", light: "#780f5a", dark: "#d28796", dash: 1 },
    Ink { name: "", light: "#116677", dark: "#5599aa", dash: 0 },
    Ink { name: "", light: "#dd6644", dark: "#ffbb99", dash: 0 },
    Ink { name: "", light: "#bb2211", dark: "#ff6655", dash: 0 },
    Ink { name: "", light: "#662233", dark: "#aa6677", dash: 0 },
    Ink { name: "", light: "#449999", dark: "#88dddd", dash: 0 },
    Ink { name: "", light: "#9977ee", dark: "#cc99ff", dash: 0 },
];
