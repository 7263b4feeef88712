"""qlog files that try to exhaust time or memory."""

import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sojourn import qlog
from sojourn.qlog import reading, texts
from sojourn.qlog.ranges import Order, UnderWay
from sojourn.qlog.trace import Trace
from test_qlog import lines, today


def long_text(file: Path, bytes_of_text: int) -> Path:
    """Write a header, followed by one text of this many spaces."""
    head = b'\x1e{"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {}}\n\x1e'
    file.write_bytes(head + b" " * bytes_of_text)
    return file


def test_a_text_without_an_end_is_refused_where_it_begins(tmp_path: Path) -> None:
    file = long_text(tmp_path / "long.sqlog", 32 << 20)
    tracemalloc.start()
    _, damage = reading.traces(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert damage is not None
    assert "one text is longer than 16 MiB" in damage.what
    assert (damage.at_byte, damage.line) == (file.read_bytes().rindex(b"\x1e") + 1, 2)
    # Of 32 MiB, memory holds only the chunks of the longest permitted text.
    assert peak < texts.LONGEST + (4 << 20)


def test_the_line_of_a_fault_is_found_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_CHUNK", 7)
    file = tmp_path / "lines.sqlog"
    file.write_text(lines() + "\n" * 1000 + "x\n")
    found, damage = reading.traces(file)
    assert damage is not None
    assert (found[0].events, damage.line) == (8, 9 + 1000 + 1)


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_texts_are_the_same_however_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    file = tmp_path / "it.sqlog"
    file.write_text(today())

    def found() -> list[tuple[int, str]]:
        seen: list[tuple[int, str]] = []

        def take(cursor: texts.Cursor) -> None:
            seen.append((cursor.base, json.dumps(cursor.value())))

        texts.sequence(file, texts.RS, take)
        return seen

    at_once = found()
    assert len(at_once) == 9
    monkeypatch.setattr(texts, "_CHUNK", size)
    assert found() == at_once


def sent(number: int) -> dict[str, Any]:
    header = {"packet_type": "1RTT", "packet_number": number}
    return {"time": number / 1000, "name": "quic:packet_sent", "data": {"header": header}}


def acked(at: int, *ranges: list[int]) -> dict[str, Any]:
    header = {"packet_type": "1RTT", "packet_number": at}
    frame = {"frame_type": "ack", "acked_ranges": list(ranges)}
    data = {"header": header, "frames": [frame]}
    return {"time": at / 1000, "name": "quic:packet_received", "data": data}


def steps_of(work: Callable[[], None]) -> int:
    """Count the executed lines of Python."""
    count = 0

    def trace(_frame: Any, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("ranges", ["short", "long"])
def test_what_is_never_told_the_end_of_costs_nothing_at_acknowledgements(ranges: str) -> None:
    def steps(stale: int) -> int:
        trace = Trace("it")
        for number in range(stale):
            trace.add(sent(number))

        def work() -> None:
            for number in range(stale, stale + 100):
                trace.add(sent(number))
                end = number if ranges == "short" else number + 10**12
                trace.add(acked(number, [number, end]))

        done = steps_of(work)
        assert len(trace.samples) == 100
        return done

    # Because of rounding, some events start a new row.
    assert steps(4000) < 1.1 * steps(100)


def test_what_is_far_behind_the_acknowledged_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.qlog.ranges._LATEST", 10)
    under_way = UnderWay()
    # Packet numbers increase, but a writer may violate that.
    for number in [*range(50), 60, 55]:
        under_way.add(number, (0.0, []))
    under_way.forget_before(45)
    assert len(under_way) == 16
    assert [place for place, _ in under_way.take(0, 100)] == [*range(36, 50), 55, 60]
    trace = Trace("it")
    for number in range(100):
        trace.add(sent(number))
        trace.add(acked(number, [number, number] if number % 2 else [number + 1, number]))
        assert sum(map(len, trace._sent.values())) <= 6


def test_a_late_acknowledgement_still_counts() -> None:
    trace = Trace("it")
    for number in range(1000):
        trace.add(sent(number))
    for at, number in ((1000, 999), (2000, 0)):
        trace.add(acked(at, [number, number]))
    assert list(trace.samples) == pytest.approx([1e-6, 2e-3])


def test_order_is_that_of_a_sorted_list() -> None:
    random = Random(1)
    order, held = Order(), set[int]()
    for _ in range(20_000):
        number = random.randrange(50_000)
        if number not in held and random.random() < 0.9:
            order.add(number)
            held.add(number)
        elif random.random() < 0.1:
            low, high = sorted((number, number + random.randrange(200)))
            taken = order.take(low, high)
            assert taken == sorted(one for one in held if low <= one <= high)
            held.difference_update(taken)
        less = [one for one in held if one < number] if random.random() < 0.01 else None
        if less is not None:
            assert order.before(number) == max(less, default=None)
            assert order.first() == min(held, default=None)
    assert order.take(0, 50_000) == sorted(held)
    assert order.first() is None


@pytest.mark.parametrize(
    "shape",
    [pytest.param("descending", marks=pytest.mark.long), "scattered", "gaps", "traces"],
)
def test_time_grows_with_the_length_alone(tmp_path: Path, shape: str) -> None:
    # With a list that moves for each packet, the first shape took more than 30 s.
    count = 300_000 if shape == "descending" else 100_000
    file = tmp_path / "long.qlog"
    with file.open("w") as out:
        if shape == "traces":
            traces = ",".join('{"events":[{"time":1,"name":"x"}]}' for _ in range(count // 5))
            out.write(f'{{"traces":[{traces}]}}')
        else:
            out.write('{"trace":{}}\n')
            out.writelines(_sent(shape, count, place) for place in range(count))
    began = time.process_time()
    run, damages = qlog.read(file)
    assert not damages
    # CPU time; some 4 s on the development machine.
    assert time.process_time() - began < 25
    flows = run.summary["runs"][0]["flows"]
    assert sum(flow["sent_packets"] or 0 for flow in flows) == (0 if shape == "traces" else count)


def _sent(shape: str, count: int, place: int) -> str:
    number = {"descending": count - place, "scattered": place * 7919 % 999_983}.get(shape, place)
    offset = 2_000 * (count - place) if shape == "gaps" else 1_000 * place
    frame = {"frame_type": "stream", "stream_id": 0, "offset": offset, "length": 1_000}
    data = {"header": {"packet_number": number}, "frames": [frame]}
    return json.dumps({"time": place / 100, "name": "packet_sent", "data": data}) + "\n"


def test_values_that_cannot_be(tmp_path: Path) -> None:
    wrong = ("1e300", "1" + 400 * "0", "NaN", "Infinity", "-1", "null", '"x"', "[]", "1e17")
    lines = [
        f'{{"time":{time},"name":"metrics_updated","data":{{"latest_rtt":{value},"cwnd":{value},'
        f'"bytes_in_flight":{value},"ssthresh":{value}}}}}\n'
        for time in wrong
        for value in wrong
    ]
    # More bytes in total than 64 bits hold, with each packet below the limit of one value.
    lines += [
        '{"time":1,"name":"packet_sent","data":{"frames":[{"frame_type":"stream","stream_id":'
        f'{stream},"length":900000000000000000}}]}}}}\n'
        for stream in range(40)
    ]
    (tmp_path / "x.qlog").write_text('{"trace":{}}\n' + "".join(lines))
    run, damages = qlog.read(tmp_path / "x.qlog")
    assert not damages
    assert run.flow("x").series.height > 0
