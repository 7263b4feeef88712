"""What `matrix --out` leaves: the figures as JSON and as a document, and the heat maps."""

import json
from pathlib import Path

from sojourn import folder
from sojourn.matrix import figure, table
from sojourn.matrix.contract import MatrixSummary
from sojourn.report import render


def write(found: MatrixSummary, target: Path) -> None:
    """Writes `matrix.json`, `matrix.md` and the maps to `target`, which must be free."""
    folder.write(target, lambda place: _write_files(found, place))


def text(found: MatrixSummary) -> str:
    """The whole matrix as JSON."""
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _write_files(found: MatrixSummary, place: Path) -> None:
    (place / "matrix.json").write_text(text(found), "utf-8")
    (place / "matrix.md").write_text(table.markdown(found), "utf-8")
    _draw(figure.alone(found), place / "alone")
    for queue in found["queues"]:
        _draw(figure.together(found, queue), place / f"together-{queue}")


def _draw(spec: figure.Spec, base: Path) -> None:
    picture = render.svg(spec)
    base.with_suffix(".svg").write_text(picture, "utf-8")
    base.with_suffix(".png").write_bytes(render.png(picture))
