"""The files of `bench --out`: the figures as JSON, and a picture of them."""

import json
from pathlib import Path

from sojourn import output
from sojourn.picture import pictures

from sojourn_bench.figures import Bench


def write(
    found: Bench, target: Path, report_missing: pictures.ReportMissing = pictures.warn
) -> None:
    """Write `bench.json`, `bench.svg` and `bench.png` to `target`, which must be free."""
    drawn = pictures.Pictures(report_missing)
    pictures.write_folder(target, lambda *to: _write_files(found, *to), drawn)


def _write_files(found: Bench, place: Path, drawn: pictures.Pictures) -> None:
    from sojourn_bench import figure

    output.write_file(place / "bench.json", json.dumps(found, indent=1) + "\n")
    drawn.draw(figure.document(found), place / "bench")
