"""The palette by computation: distances for four kinds of vision, contrasts, and the order."""

import json
from itertools import combinations, product
from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt

import pytest
from sojourn import _core
from sojourn.record import legend
from test_report import contrast

INKS = json.loads(_core.palette())["inks"]
PARTS = json.loads(_core.palette())["parts"]
GROUNDS = {"light": ("#ffffff", "#fafafa"), "dark": ("#222226", "#18181b", "#16181b")}
"""The grounds of report and page."""
# Machado, Oliveira and Fernandes 2009, "A Physiologically-based Model for Simulation of Color
# Vision Deficiency", severity 1.0: matrices over linear RGB.
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
# Of two lines side by side. Sharma, Wu and Dalal (2005) call 1 the least visible difference; thin
# lines need some ten times as much.
ALIKE, OTHER_DASH = 12.0, 8.0
Lab = tuple[float, float, float]


def lab(colour: str, vision: str = "normal") -> Lab:
    """Return CIE L*a*b* (D65) of a colour as this vision sees it."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    rgb = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    seen = [min(max(times(row, rgb), 0), 1) for row in VISIONS[vision]]
    white = {0.95047: (0.4124564, 0.3575761, 0.1804375), 1.0: (0.2126729, 0.7151522, 0.0721750)}
    white[1.08883] = (0.0193339, 0.1191920, 0.9503041)
    xyz = (times(row, seen) / scale for scale, row in white.items())
    x, y, z = (t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def times(row: tuple[float, ...], column: list[float]) -> float:
    return sum(a * b for a, b in zip(row, column, strict=True))


def ciede2000(one: Lab, other: Lab) -> float:
    """Sharma, Wu and Dalal 2005, "The CIEDE2000 Color-Difference Formula", with unit weights."""
    mean = (hypot(*one[1:]) + hypot(*other[1:])) / 2
    g = 1.5 - 0.5 * sqrt(mean**7 / (mean**7 + 25**7))
    chroma, hue = [], []
    for _, a, b in (one, other):
        chroma.append(hypot(a * g, b))
        hue.append(degrees(atan2(b, a * g)) % 360)
    turn = (hue[1] - hue[0] + 180) % 360 - 180 if all(chroma) else 0.0
    l_mean, c_mean = (one[0] + other[0]) / 2, sum(chroma) / 2
    h_mean = hue[0] + turn / 2 if all(chroma) else sum(hue)
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    t = 1 + sum(size * cos(radians(n * h_mean + at)) for size, n, at in waves)
    l_part = (other[0] - one[0]) / (1 + 0.015 * (l_mean - 50) ** 2 / sqrt(20 + (l_mean - 50) ** 2))
    c_part = (chroma[1] - chroma[0]) / (1 + 0.045 * c_mean)
    h_part = 2 * sqrt(chroma[0] * chroma[1]) * sin(radians(turn / 2)) / (1 + 0.015 * c_mean * t)
    rotation = -2 * sqrt(c_mean**7 / (c_mean**7 + 25**7))
    rotation *= sin(radians(60 * exp(-(((h_mean % 360 - 275) / 25) ** 2))))
    return sqrt(l_part**2 + c_part**2 + h_part**2 + rotation * c_part * h_part)


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ],
)
def test_the_distance_is_that_of_the_published_pairs(one: Lab, other: Lab, distance: float) -> None:
    assert ciede2000(one, other) == pytest.approx(distance, abs=5e-5)


@pytest.mark.parametrize("shade", GROUNDS)
def test_every_two_looks_are_apart(shade: str) -> None:
    """Colours alone for lines of one dash, to everyone; colour and dash for the others."""
    for one, other in combinations(INKS, 2):
        pair, names = (one[shade], other[shade]), (one["name"], other["name"])
        assert ciede2000(*map(lab, pair)) >= OTHER_DASH, names
        # Users' own names are many: only their looks among themselves are apart to everyone.
        if one["dash"] == other["dash"] and bool(names[0]) == bool(names[1]):
            for vision in VISIONS:
                seen = (lab(colour, vision) for colour in pair)
                assert ciede2000(*seen) >= ALIKE, (*names, vision)


@pytest.mark.parametrize("shade", GROUNDS)
def test_the_parts_of_a_bar_are_apart_to_everyone(shade: str) -> None:
    for (one, other), vision in product(combinations(PARTS, 2), VISIONS):
        seen = (lab(part[shade], vision) for part in (one, other))
        assert ciede2000(*seen) >= ALIKE, (one["name"], other["name"], vision)
    # A part is no controller's.
    for part, ink in product(PARTS, INKS):
        assert ciede2000(lab(part[shade]), lab(ink[shade])) >= OTHER_DASH, (part, ink)


@pytest.mark.parametrize("shade", GROUNDS)
def test_every_colour_shows_on_its_ground(shade: str) -> None:
    """WCAG 2.2, 1.4.11."""
    for ink, ground in product([*INKS, *PARTS], GROUNDS[shade]):
        assert contrast(ink[shade], ground) >= 3, (ink["name"], ground)


def test_the_palette_has_the_controllers_of_the_catalogue_in_its_order() -> None:
    controllers = [one["name"] for one in json.loads(_core.controllers())]
    assert [ink["name"] for ink in INKS if ink["name"]] == controllers
    assert list(legend.INKS) == controllers


def test_further_lines_of_a_controller_have_its_colour_and_looks_of_their_own() -> None:
    owners = {"lola": "lola", "cubic": "cubic", **{f"flow-{n}": "lola" for n in range(2, 25)}}
    found = legend.inks(owners)
    lola = [ink for label, ink in found.items() if owners[label] == "lola"]
    assert len(set(lola)) == legend.MOST_LINES
    assert {ink.colour for ink in lola} == {legend.INKS["lola"].colour}
    assert found["cubic"] == legend.INKS["cubic"]


@pytest.mark.parametrize("shade", GROUNDS)
def test_further_lines_of_one_dash_are_apart(shade: str) -> None:
    """Several lines of each controller, in one figure, as those of flows or of parameters."""
    owners = {f"{name} {n}": name for name in legend.INKS for n in range(8)}
    found = legend.inks(owners)
    assert len(set(found.values())) == len(found)
    for one, other in combinations(legend.INKS, 2):
        dashes = [
            {ink.dash for label, ink in found.items() if owners[label] == name}
            for name in (one, other)
        ]
        if dashes[0].isdisjoint(dashes[1]):
            continue
        colours = [legend.INKS[name].colour for name in (one, other)]
        shown = [legend.DARK[colour] if shade == "dark" else colour for colour in colours]
        for vision in VISIONS:
            seen = (lab(colour, vision) for colour in shown)
            assert ciede2000(*seen) >= ALIKE, (one, other, vision)


def test_other_names_have_the_look_of_their_letters() -> None:
    names = ["mine", "ping"]
    alone = {name: legend.inks({name: name})[name] for name in names}
    assert legend.inks({name: name for name in ["cubic", *names, "bbr"]}).items() >= alone.items()
    shipped = {ink.colour for ink in legend.INKS.values()}
    assert shipped.isdisjoint(ink.colour for ink in alone.values())
