"""The option `--plot FILE`: one picture as SVG and PNG."""

import sys
from pathlib import Path

from sojourn import output
from sojourn.cli.figures import Figures
from sojourn.pictures import Pictures
from sojourn.report.theme import Spec


def _base(target: str) -> Path:
    path = Path(target)
    return path.with_suffix("") if path.suffix in (".svg", ".png") else path


def free_picture(target: str) -> None:
    """Refuse a picture whose files exist."""
    for suffix in (".svg", ".png"):
        output.require_free_file(f"{_base(target)}{suffix}", "--plot")


def write_picture(spec: Spec, target: str) -> int:
    """Draw both files and return the exit status."""
    own, base = Figures(), _base(target)
    drawn = Pictures(own.report_missing, ())
    if drawn.draw(spec, base):
        print(output.announced("Picture", f"{base}.svg", " (and .png)"), file=sys.stderr)
    drawn.finish(base.parent)
    return own.status()
