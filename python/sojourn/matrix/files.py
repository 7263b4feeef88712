"""The files of `matrix --out`: the figures as JSON and Markdown, and the heat maps."""

import json
from pathlib import Path

from sojourn import files, folder, pictures
from sojourn.matrix import figure, table
from sojourn.matrix.contract import MatrixSummary


def write(
    found: MatrixSummary, target: Path, report_missing: pictures.ReportMissing = pictures.warn
) -> None:
    """Write `matrix.json`, `matrix.md` and the maps to `target`, which must be free."""
    drawn = pictures.Pictures(report_missing)
    folder.write(target, lambda place: _write_files(found, place, drawn))
    drawn.finish(target)


def text(found: MatrixSummary) -> str:
    """Format the whole matrix as JSON."""
    return json.dumps(found, indent=1) + "\n"


def _write_files(found: MatrixSummary, place: Path, drawn: pictures.Pictures) -> None:
    files.write(place / "matrix.json", text(found))
    files.write(place / "matrix.md", table.markdown(found))
    drawn.draw(figure.alone(found), place / "alone")
    for queue in found["queues"]:
        drawn.draw(figure.together(found, queue), place / f"together-{queue}")
