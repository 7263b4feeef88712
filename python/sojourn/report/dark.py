"""Figures on a dark ground: each colour keeps its hue, and changes its lightness.

The figures' colours were chosen on white. Lightness, chroma and hue are those of Oklab (Ottosson
2020, "A perceptual color space for image processing").
"""

from functools import cache

GROUND = "#222226"
"""The ground: that of the page's cards."""

# Paler colours than this are grounds, guides and grids. Greys have less chroma than colours.
_PALE, _GREY = 0.8, 0.02
# The lightness of a pale colour or a grey and that on the dark ground add up to this, which turns
# white into the ground's lightness.
_SUM = 1.26
_LIGHTER, _LIGHTEST = 0.2, 0.95
# Step in which the chroma falls until the screen can show the colour.
_STEP = 0.96

Lab = tuple[float, float, float]


@cache
def dark(colour: str) -> str:
    """Return the colour on a dark ground for a colour such as #0072b2."""
    lightness, *ab = _lab(colour)
    is_grey = ab[0] ** 2 + ab[1] ** 2 < _GREY**2
    new = _SUM - lightness if is_grey or lightness > _PALE else lightness + _LIGHTER
    a, b = ab
    while not _is_shown(rgb := _linear((min(new, _LIGHTEST), a, b))):
        a, b = a * _STEP, b * _STEP
    return "#" + "".join(f"{round(255 * _encoded(one)):02x}" for one in rgb)


def _lab(colour: str) -> Lab:
    r, g, b = (_decoded(int(colour[place : place + 2], 16) / 255) for place in (1, 3, 5))
    long = _cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
    medium = _cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
    short = _cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )


def _linear(lab: Lab) -> Lab:
    lightness, a, b = lab
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _is_shown(rgb: Lab) -> bool:
    return all(-1e-4 <= one <= 1 + 1e-4 for one in rgb)


def _cbrt(value: float) -> float:
    # Rounding can make the linear part of black slightly negative. Python 3.10 has no `cbrt`.
    return float(max(value, 0.0) ** (1 / 3))


def _decoded(value: float) -> float:
    """Return the linear part of a colour (IEC 61966-2-1)."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _encoded(value: float) -> float:
    clipped = min(max(value, 0.0), 1.0)
    if clipped <= 0.0031308:
        return 12.92 * clipped
    return float(1.055 * clipped ** (1 / 2.4) - 0.055)
