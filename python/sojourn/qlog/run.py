"""Conversion of traces to a run, with one flow per trace."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from sojourn import _core, memory, run_directory
from sojourn.qlog.texts import decoded
from sojourn.qlog.trace import Row, Trace
from sojourn.results import Run
from sojourn.run_directory import File
from sojourn.run_summary import FORMAT, FlowSummary, Summary

if TYPE_CHECKING:
    import polars as pl

# This many samples fill the width of a figure; intervals are rounded.
_SAMPLES = 500
_ROUND_S = [n * 10.0**power for power in range(-3, 4) for n in (1, 2, 5)]
# Longer logs would give more rows than a figure or a table can use.
_MOST_SAMPLES = 1_000_000


def to_run(traces: Sequence[Trace], control: str, interval_s: float | None) -> Run:
    """Compute the figures and series of all traces; absolute times start at the earliest."""
    for trace in traces:
        trace.finish()
    dates = [trace.rows[0].t for trace in traces if trace.is_absolute and trace.rows]
    begin = min(dates, default=0.0)
    starts = [begin if trace.is_absolute else 0.0 for trace in traces]
    pairs = list(zip(traces, starts, strict=True))
    ends = [trace.rows[-1].t - start for trace, start in pairs if trace.rows]
    duration = max(ends, default=0.0)
    interval = _interval(duration, interval_s)
    names = _names(traces)
    flows = [_summary(trace, name, control) for trace, name in zip(traces, names, strict=True)]
    title = next((decoded(trace.title) for trace in traces if trace.title), None) or "qlog"
    summary: Summary = {
        "format": FORMAT,
        "scenario": title,
        "version": f"Sojourn {_core.__version__}, from qlog",
        "runs": [
            {
                "control": control,
                "seed": 1,
                "duration_s": duration,
                "flows": flows,
                "links": [],
                "spikes": [],
            }
        ],
    }
    columns = _Columns(control)
    for (trace, start), name in zip(pairs, names, strict=True):
        columns.add(list(_samples(trace, start, interval)), name, interval)
    series: dict[File, bytes] = {
        "flows": _parquet(columns.frame()),
        "links": run_directory.empty_series("links"),
    }
    return Run(summary, "", title, series, {})


def _interval(duration: float, asked: float | None) -> float:
    if asked is not None:
        return max(asked, 1e-3, duration / _MOST_SAMPLES)
    return next((one for one in _ROUND_S if one * _SAMPLES >= duration), duration / _SAMPLES)


def _names(traces: Sequence[Trace]) -> list[str]:
    """Name each trace; add its endpoint if both endpoints of a connection are present."""
    plain = [decoded(trace.name) or "trace" for trace in traces]
    often = Counter(plain)
    named = [
        f"{name} ({trace.vantage})" if often[name] > 1 else name
        for name, trace in zip(plain, traces, strict=True)
    ]
    often = Counter(named)
    return [f"{name} {place + 1}" if often[name] > 1 else name for place, name in enumerate(named)]


def _is_sender(trace: Trace) -> bool:
    last = trace.rows[-1]
    return last.sent >= last.received


def _delivered(row: Row, is_sender: bool) -> int:
    return row.acked if is_sender else row.received


def _summary(trace: Trace, name: str, control: str) -> FlowSummary:
    is_sender, last = _is_sender(trace), trace.rows[-1]
    span = last.t - trace.rows[0].t
    delivered = _delivered(last, is_sender)
    rtts = sorted(trace.samples)
    known: dict[str, object] = {
        "name": name,
        "control": control,
        "goodput_bps": delivered * 8 / span if span > 0 else None,
        "rtt_min_s": rtts[0] if rtts else None,
        "rtt_p50_s": _quantile(rtts, 0.5),
        "rtt_p99_s": _quantile(rtts, 0.99),
        "rtt_max_s": rtts[-1] if rtts else None,
        "rtt_mean_s": sum(rtts) / len(rtts) if rtts else None,
        "sent_packets": trace.sent_packets,
        "retransmitted_packets": last.again,
        "marked_packets": last.marked,
        "timeouts": trace.timeouts,
    }
    return cast(FlowSummary, {**dict.fromkeys(FlowSummary.__annotations__), **known})


def _quantile(values: Sequence[float], share: float) -> float | None:
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


def _samples(trace: Trace, start: float, interval: float) -> Iterator[Row]:
    """Keep the last row of each non-empty interval, with the greatest RTT of the interval."""
    place, rtt, last = None, None, None
    for row in trace.rows:
        now = max(0.0, row.t - start)
        here = int(now / interval)
        if last is not None and here != place:
            yield _sample(last, place or 0, rtt, interval)
            rtt = None
        place, last = here, row
        rtt = row.rtt if rtt is None else max(rtt, row.rtt or 0.0)
    if last is not None:
        yield _sample(last, place or 0, rtt, interval)


def _sample(row: Row, place: int, rtt: float | None, interval: float) -> Row:
    values = {**row.__dict__, "rtt": rtt, "t": (place + 1) * interval}
    return Row(**values)


class _Columns:
    """The samples of all traces; one data frame per trace would take a millisecond each."""

    def __init__(self, control: str) -> None:
        self._control = control
        self._rows: list[Row] = []
        self._names: list[str] = []
        self._delivered: list[int] = []
        self._goodputs: list[float] = []

    def add(self, rows: list[Row], name: str, interval: float) -> None:
        """Add the samples of one trace."""
        is_sender = rows[-1].sent >= rows[-1].received
        delivered = [_delivered(row, is_sender) for row in rows]
        then, before = rows[0].t - interval, 0
        for row, now in zip(rows, delivered, strict=True):
            self._goodputs.append((now - before) * 8 / (row.t - then))
            then, before = row.t, now
        self._rows += rows
        self._names += [name] * len(rows)
        self._delivered += delivered

    def frame(self) -> "pl.DataFrame":
        """Build the columns of `flows.parquet` that a log provides."""
        memory.require_polars()
        import polars as pl

        rows = self._rows
        counts: dict[str, Sequence[object]] = {
            "in_flight_bytes": [row.in_flight for row in rows],
            "delivered_bytes": self._delivered,
            "lost_packets": [row.lost for row in rows],
            "retransmitted_packets": [row.again for row in rows],
            "marked_packets": [row.marked for row in rows],
        }
        numbers: dict[str, Sequence[object]] = {
            "t_s": [row.t for row in rows],
            "cwnd_bytes": [row.cwnd for row in rows],
            "ssthresh_bytes": [row.ssthresh for row in rows],
            "srtt_s": [row.srtt for row in rows],
            "rtt_s": [row.rtt for row in rows],
            "min_rtt_s": [row.min_rtt for row in rows],
            "pacing_bps": [row.pacing for row in rows],
            "goodput_bps": self._goodputs,
        }
        texts: dict[str, Sequence[object]] = {
            "flow": self._names,
            "phase": [decoded(row.phase) for row in rows],
        }
        columns = [pl.Series(name, values, pl.String) for name, values in texts.items()]
        columns += [pl.Series(name, values, pl.Float64) for name, values in numbers.items()]
        # A log may claim more bytes than a counter can hold; such values become null.
        columns += [
            pl.Series(name, values, pl.UInt64, strict=False) for name, values in counts.items()
        ]
        own = (pl.lit(self._control).alias("control"), pl.lit(1, pl.UInt64).alias("seed"))
        return pl.DataFrame(columns).with_columns(*own)


def _parquet(frame: "pl.DataFrame") -> bytes:
    file = io.BytesIO()
    run_directory.complete_series(frame, "flows").write_parquet(file)
    return file.getvalue()
