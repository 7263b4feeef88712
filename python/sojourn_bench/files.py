"""The files of `bench --out`: the figures as JSON, and a picture of them."""

import json
from pathlib import Path
from typing import Any

from sojourn import output, pictures
from sojourn.report.look import CONFIG

from sojourn_bench.figures import Bench

Spec = dict[str, Any]

_COLOURS = {"nothing recorded": "#0072b2", "10 ms samples": "#d55e00"}


def write(
    found: Bench, target: Path, report_missing: pictures.ReportMissing = pictures.warn
) -> None:
    """Write `bench.json`, `bench.svg` and `bench.png` to `target`, which must be free."""
    pictures.write_folder(target, lambda *to: _write_files(found, *to), report_missing)


def _write_files(found: Bench, place: Path, drawn: pictures.Pictures) -> None:
    output.write_file(place / "bench.json", json.dumps(found, indent=1) + "\n")
    drawn.draw(figure(found), place / "bench")


def figure(found: Bench) -> Spec:
    """Draw the speed of each case, and the time per packet over the number of flows."""
    bare = found["bare_loop_pps"] / 1e6
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "title": {
            "text": f"Sojourn {found['version']}: speed"
            + (" (--quick: a smoke test, not a measurement)" if found["quick"] else ""),
            "subtitle": f"bare loop: {bare:.1f} million packets a CPU second",
            "anchor": "start",
            "fontSize": 18,
        },
        "background": "white",
        "padding": 14,
        "hconcat": [_cases(found), *([_scaling(found)] if found["scaling"] else [])],
        "config": CONFIG,
    }


def _cases(found: Bench) -> Spec:
    bars = []
    for name, case in found["cases"].items():
        bars.append({"case": name, "what": "nothing recorded", "ratio": case["ratio"]})
        bars.append({"case": name, "what": "10 ms samples", "ratio": case["sampled_ratio"]})
    scale = {"domain": list(_COLOURS), "range": list(_COLOURS.values())}
    names = list(found["cases"])
    return {
        "title": "Packets a CPU second, as a share of the bare loop's",
        "width": 90 * max(len(names), 3),
        "height": 260,
        "data": {"values": bars},
        "mark": "bar",
        "encoding": {
            "x": {"field": "case", "sort": names, "title": None, "axis": {"labelAngle": 0}},
            "xOffset": {"field": "what", "sort": list(_COLOURS)},
            "y": {"field": "ratio", "type": "quantitative", "title": None},
            "color": {"field": "what", "scale": scale, "legend": {"symbolType": "square"}},
        },
    }


def _scaling(found: Bench) -> Spec:
    points = [{"flows": one["flows"], "ns": one["ns_per_packet"]} for one in found["scaling"]]
    ticks = {"values": [one["flows"] for one in found["scaling"]], "format": ","}
    return {
        "title": "Nanoseconds a packet, by the number of flows",
        "width": 320,
        "height": 260,
        "data": {"values": points},
        "mark": {"type": "line", "point": True, "color": _COLOURS["nothing recorded"]},
        "encoding": {
            "x": {
                "field": "flows",
                "type": "quantitative",
                "scale": {"type": "log"},
                "axis": ticks,
            },
            "y": {"field": "ns", "type": "quantitative", "title": None},
        },
    }
