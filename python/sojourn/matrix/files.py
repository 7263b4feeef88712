"""The files of `matrix --out`: the figures as JSON and Markdown, and the heat maps."""

import json
from pathlib import Path

from sojourn import files, pictures
from sojourn.matrix import table
from sojourn.matrix.contract import MatrixSummary


def write(
    found: MatrixSummary, target: Path, report_missing: pictures.ReportMissing = pictures.warn
) -> None:
    """Write `matrix.json`, `matrix.md` and the maps to `target`, which must be free."""
    pictures.write_folder(target, lambda *to: _write_files(found, *to), report_missing)


def text(found: MatrixSummary) -> str:
    """Format the whole matrix as JSON."""
    return json.dumps(found, indent=1) + "\n"


def _write_files(found: MatrixSummary, place: Path, drawn: pictures.Pictures) -> None:
    from sojourn.matrix import figure

    files.write(place / "matrix.json", text(found))
    files.write(place / "matrix.md", table.markdown(found))
    drawn.draw(figure.alone(found), place / "alone")
    for queue in found["queues"]:
        drawn.draw(figure.together(found, queue), place / f"together-{queue}")
