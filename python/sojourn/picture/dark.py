"""Pictures on a dark ground: each colour keeps its hue, and changes its lightness."""

from colorsys import hls_to_rgb, rgb_to_hls
from functools import cache

from sojourn.record import legend

GROUND = "#222226"
"""The ground: that of the page's cards."""

# Paler colours than this are grounds, guides and grids; greys have less saturation than colours.
_PALE, _GREY = 0.82, 0.12
# The lightness of a pale colour or a grey and that on the dark ground add up to this, which turns
# white into the ground's lightness.
_SUM = 1.14
_LIGHTER, _LIGHTEST = 0.24, 0.92


@cache
def dark(colour: str) -> str:
    """Return the colour on a dark ground for a colour such as #0072b2: the palette has its own."""
    if own := legend.DARK.get(colour):
        return own
    hue, lightness, saturation = rgb_to_hls(*(one / 255 for one in bytes.fromhex(colour[1:])))
    is_turned = saturation < _GREY or lightness > _PALE
    new = _SUM - lightness if is_turned else lightness + _LIGHTER
    rgb = hls_to_rgb(hue, min(new, _LIGHTEST), saturation)
    return "#" + "".join(f"{round(255 * one):02x}" for one in rgb)
