"""The user's own controllers in Python: their names, declarations and errors."""

import hashlib
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
import sojourn
from sojourn.user.controllers import UserControllers
from support import ROOT, SMALL, Sojourn

MINE = """\
import sojourn


class Mine:
    '''A window that grows by a packet a round trip.'''

    params = {"beta": sojourn.Param(0.5, 0.1, 0.95, doc="window factor")}

    def __init__(self, setup):
        self.mss, self.beta = setup.mss_bytes, setup.params["beta"]
        self.cwnd = setup.initial_window_bytes

    def on_feedback(self, now_ns, feedback):
        if feedback.loss_event:
            self.cwnd = max(self.beta * self.cwnd, self.mss)
        elif not feedback.in_recovery and feedback.cwnd_limited:
            self.cwnd += self.mss * feedback.acked_bytes / self.cwnd

    def limits(self):
        return sojourn.Limits(self.cwnd)
"""


FAILS_LATER = """\
if now_ns > 2_000_000_000:
            1 / 0
        if feedback.loss_event:"""


class Fixed:
    """A window of ten packets; keeps its arguments for the test."""

    title = "Ten packets"
    receive_times = True
    random = False
    told: ClassVar[list[sojourn.Feedback]] = []
    sent: ClassVar[list[sojourn.Sent]] = []
    # With the number of packets sent before.
    handshakes: ClassVar[list[tuple[int, int, int]]] = []

    def __init__(self, setup: sojourn.Setup) -> None:
        self.cwnd = 10 * setup.mss_bytes

    def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
        assert type(now_ns) is int
        Fixed.told.append(feedback)

    def on_handshake(self, now_ns: int, rtt_ns: int) -> None:
        Fixed.handshakes.append((now_ns, rtt_ns, len(Fixed.sent)))

    def on_sent(self, now_ns: int, sent: sojourn.Sent) -> None:
        Fixed.sent.append(sent)

    def limits(self) -> sojourn.Limits:
        return sojourn.Limits(cwnd_bytes=self.cwnd)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


def test_what_it_is_told(small: Path) -> None:
    Fixed.told.clear()
    Fixed.sent.clear()
    Fixed.handshakes.clear()
    run = sojourn.run(
        small,
        control="fixed",
        controllers={"fixed": Fixed},
        set={"flow.upload.host": "quic"},
    )
    flow = run.flow("upload").summary
    assert len(Fixed.sent) == flow["sent_packets"]
    assert sum(one.acked_packets for one in Fixed.told) == Fixed.told[-1].largest_acked + 1
    assert Fixed.told[-1].delivered_bytes == sum(one.acked_bytes for one in Fixed.told)
    # 20 ms of propagation, plus the queueing delay among ten packets.
    first = Fixed.told[0]
    assert first.rtt_ns is not None
    assert 20_000_000 < first.rtt_ns < 40_000_000
    # The handshake's packets are smaller and find an empty queue.
    ((now_ns, rtt_ns, sent),) = Fixed.handshakes
    assert sent == 0
    assert 20_000_000 < rtt_ns < first.rtt_ns
    assert rtt_ns <= now_ns
    assert first.min_rtt_ns == rtt_ns
    assert first.srtt_ns is not None
    assert rtt_ns < first.srtt_ns < first.rtt_ns
    assert all(one.in_flight_before_bytes <= 10 * 1420 for one in Fixed.told)
    rates = [one.rate.bps for one in Fixed.told if one.rate is not None]
    assert 0 < max(rates) < 13e6
    shown = f"Feedback(acked_bytes={first.acked_bytes}, acked_packets={first.acked_packets}, "
    assert repr(first).startswith(shown)
    assert f"rtt_ns={first.rtt_ns}, " in repr(first)
    assert "loss_event=False" in repr(first)
    assert "received=[Received(number=0, " in repr(first)
    assert repr(Fixed.sent[0]).startswith("Sent(number=0, bytes=1420, in_flight_before_bytes=0, ")
    for feedback in Fixed.told:
        assert [one.bytes for one in feedback.received] == [1420] * feedback.acked_packets
        assert all(one.sent_at_ns < one.received_at_ns for one in feedback.received)


def test_the_same_from_the_command_line(without_report: Sojourn, small: Path, mine: Path) -> None:
    asked = ("run", small, "--controller", f"{mine}:Mine", "--control", "mine,cubic")
    done = without_report(*asked, "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "note: mine: a controller in Python is slow" in done.stderr
    assert "packets a second" in done.stderr
    summary = json.loads(done.stdout)
    assert [one["control"] for one in summary["runs"]] == ["mine", "cubic"]
    sha256 = hashlib.sha256(MINE.encode()).hexdigest()
    ran = {"name": "mine", "class": "Mine", "file": "mine.py", "sha256": sha256}
    assert summary["controllers"] == [ran]
    assert (small.parent / "out" / "controller-mine.py").read_text() == MINE


def test_its_run_is_read_back(
    small: Path, mine: Path, tmp_path: Path, without_report: Sojourn
) -> None:
    asked = ("run", small, "--controller", f"own={mine}:Mine", "--control", "own", "--out", "out")
    assert without_report(*asked).returncode == 0
    again = _load(tmp_path / "out")
    assert again.title == "A small drop"
    assert [one["name"] for one in again.summary["controllers"]] == ["own"]
    again.save(tmp_path / "again", report=())
    assert (tmp_path / "again" / "controller-own.py").read_text() == MINE
    assert without_report("compare", "out", "again").returncode == 0


def _load(directory: Path) -> "sojourn.Run":
    return sojourn.load(directory)


def test_threads_change_nothing(without_report: Sojourn, small: Path, mine: Path) -> None:
    for jobs in ("1", "3"):
        asked = ("--control", "mine,reno", "--runs", "3", "--spread", "1s", "--jobs", jobs)
        done = without_report("run", small, "--controller", f"{mine}:Mine", *asked, "--out", jobs)
        assert done.returncode == 0, done.stderr
    for name in ("summary.json", "flows.parquet", "links.parquet"):
        one, three = (small.parent / jobs / name for jobs in ("1", "3"))
        assert one.read_bytes() == three.read_bytes(), name


def test_its_parameters_are_set_and_held_to_their_range(
    sojourn: Sojourn, small: Path, mine: Path
) -> None:
    own = ("--controller", f"{mine}:Mine")
    small.write_text(SMALL.replace('"dctcp"', '{ kind = "mine", beta = 0.9 }'))
    done = sojourn("check", small, *own)
    assert done.returncode == 0, done.stderr
    small.write_text(SMALL.replace('"dctcp"', '{ kind = "mine", beta = 0.96 }'))
    done = sojourn("run", small, *own)
    assert done.returncode == 2
    assert "`beta` is 0.96; it must be 0.1 to 0.95" in done.stderr
    schema = json.loads(sojourn("schema", *own).stdout)
    assert "mine" in schema["properties"]["controls"]["items"]["anyOf"][0]["enum"]
    listed = sojourn("controllers", "mine", *own).stdout
    assert "A window that grows by a packet a round trip." in listed
    assert "window factor" in listed


def test_without_it_its_name_is_refused(sojourn: Sojourn, small: Path, mine: Path) -> None:
    done = sojourn("run", small, "--controller", f"{mine}:Mine", "--control", "yours")
    assert done.returncode == 2
    assert "there is no controller `yours`" in done.stderr
    assert "cubic" in done.stderr
    done = sojourn("run", small, "--control", "mine")
    assert done.returncode == 2
    assert "there is no controller `mine`" in done.stderr


def test_one_that_no_flow_uses_is_told_of(sojourn: Sojourn, small: Path, mine: Path) -> None:
    done = sojourn("run", small, "--controller", f"{mine}:Mine", "--json")
    assert done.returncode == 0
    assert "no flow of" in done.stderr
    assert "controllers" not in json.loads(done.stdout)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("if feedback.loss_event:", FAILS_LATER, []),
        ("sojourn.Limits(self.cwnd)", "sojourn.Limits(self.cwnd * float('nan'))", ["cwnd_bytes"]),
        ("sojourn.Limits(self.cwnd)", "sojourn.Limits(0)", ["cwnd_bytes is 0", "1 or more"]),
        ("sojourn.Limits(self.cwnd)", "self.cwnd", ["limits() returned", "sojourn.Limits"]),
        ('setup.params["beta"]', 'setup.params["beat"]', ["__init__", "KeyError"]),
    ],
)
def test_an_exception_ends_the_run(
    sojourn: Sojourn, small: Path, mine: Path, before: str, after: str, words: list[str]
) -> None:
    mine.write_text(MINE.replace(before, after))
    done = sojourn("run", small, "--controller", f"{mine}:Mine", "--control", "mine,cubic")
    assert done.returncode == 1
    assert "sojourn: controller `mine` failed in" in done.stderr
    assert "internal error" not in done.stderr
    assert not (small.parent / "runs").exists()
    for word in words:
        assert word in done.stderr
    if not words:
        # The message has the user's line and the scenario's time, without Sojourn's frames.
        assert "1 / 0" in done.stderr
        assert "failed in on_feedback at 2." in done.stderr
        assert done.stderr.count('File "') == 1


def test_an_exception_is_the_cause_in_python(small: Path) -> None:
    class Failing(Fixed):
        receive_times = False

        def on_feedback(self, now_ns: int, feedback: sojourn.Feedback) -> None:
            raise LookupError("on purpose")

    with pytest.raises(sojourn.ControllerError, match="`mine` failed in on_feedback") as caught:
        sojourn.run(small, control="mine", controllers={"mine": Failing}, jobs=2)
    assert isinstance(caught.value.__cause__, LookupError)
    assert caught.value.__cause__.__traceback__ is not None


@pytest.mark.parametrize(
    ("argument", "text", "words"),
    [
        ("mine.py:Mine", "import nowhere_at_all\n", ["nowhere_at_all", "Traceback"]),
        ("mine.py:Mine", "class Mine(\n", ["SyntaxError", "mine.py"]),
        ("mine.py:Nine", MINE, ["no `Nine`", "Mine"]),
        ("mine.py:Mine", "class Mine: pass\n", ["no method `on_feedback`"]),
        ("mine.py:Mine", MINE.replace("params =", "ecn = 'some'\n    params ="), ["`ecn`", "l4s"]),
        ("mine.py:Mine", MINE.replace("0.5,", "'5ms',"), ["beta", "of one kind"]),
        ("mine.py:Mine", MINE.replace("0.5,", "5.0,"), ["beta", "0.1 to 0.95"]),
        ("mine.py", MINE, ["FILE.py:CLASS"]),
        ("none.py:Mine", MINE, ["none.py", "No such file"]),
        ("cubic=mine.py:Mine", MINE, ["`cubic` is taken"]),
    ],
)
def test_what_is_no_controller_is_refused(
    sojourn: Sojourn, small: Path, mine: Path, argument: str, text: str, words: list[str]
) -> None:
    mine.write_text(text)
    done = sojourn("run", small, "--controller", argument, "--control", "mine")
    assert done.returncode == 2, done.stderr
    for word in words:
        assert word in done.stderr
    assert not (small.parent / "runs").exists()


def test_limits_are_checked_where_they_are_made() -> None:
    limits = sojourn.Limits(15_000.9, pacing_bps=5e6, burst_bytes=3_000)
    assert (limits.cwnd_bytes, limits.pacing_bps, limits.gap_ns) == (15_000, 5_000_000, None)
    for wrong in ({"pacing_bps": 0}, {"gap_ns": -1}, {"pacing_bps": 1e6, "gap_ns": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            sojourn.Limits(15_000, **wrong)


def test_pacing_is_heeded(small: Path) -> None:
    class Paced(Fixed):
        receive_times = False
        pace: ClassVar[dict[str, float]] = {"pacing_bps": 4e6}

        def limits(self) -> sojourn.Limits:
            return sojourn.Limits(1_000_000, **self.pace)

    class Gaps(Paced):
        # A packet of 1448 bytes every 2.896 ms is 4 Mbit/s.
        pace: ClassVar[dict[str, float]] = {"gap_ns": 2_896_000}

    own = {"paced": Paced, "gaps": Gaps}
    run = sojourn.run(small, control=["paced", "gaps"], controllers=own)
    for one in run.runs:
        # The first packets and the last round trip are below the full rate.
        assert one["flows"][0]["goodput_bps"] == pytest.approx(4e6, rel=0.01)


def test_another_name_than_that_of_the_own_controller_is_refused(
    sojourn: Sojourn, small: Path, mine: Path
) -> None:
    own = ("--controller", f"{mine}:Mine")
    done = sojourn("run", small, *own, "--control", "slowly")
    assert done.returncode == 2
    assert "--controller adds `mine`" in done.stderr
    assert "--controller slowly=FILE.py:CLASS" in done.stderr
    done = sojourn("live", small, *own)
    assert done.returncode == 2
    assert "controllers in Python run in simulations only" in done.stderr


@pytest.mark.parametrize(("subtracted", "least", "most"), [(True, 0.9, 1.0), (False, 0.0, 0.05)])
def test_a_delayed_acknowledgement_is_no_queue(subtracted: bool, least: float, most: float) -> None:
    """The tutorial's class at a window of one packet, whose acknowledgement waits for 40 ms."""
    tutorial = (ROOT / "docs" / "tutorials" / "own-controller.md").read_text("utf-8")
    code = tutorial.partition("```python\n")[2].partition("```")[0]
    delay = " - feedback.ack_delay_ns"
    assert delay in code
    made: dict[str, Any] = {}
    exec(code if subtracted else code.replace(delay, ""), made)
    scenario = (
        sojourn.Scenario(duration="60s", host="rfc")
        .link("out", rate="20Mbit", delay="5ms")
        .link("back", delay="5ms")
        .flow(
            "one",
            control="target",
            path=["out"],
            back=["back"],
            host={"initial_window": 1},
        )
    )
    run = sojourn.run(scenario, controllers={"target": made["Target"]}).runs[0]
    assert least <= run["flows"][0]["goodput_bps"] / 20e6 <= most


@pytest.mark.parametrize(
    ("added", "sentence"),
    [
        ("on_timeoutt", "nobody calls its method `on_timeoutt`; did you mean `on_timeout`?"),
        ("on_handshakes", "nobody calls its method `on_handshakes`; did you mean `on_handshake`?"),
        ("on_ack", None),
        ("reset_on_loss", None),
    ],
)
def test_a_misspelled_method_is_a_warning(
    sojourn: Sojourn, small: Path, mine: Path, added: str, sentence: str | None
) -> None:
    """Optional methods are found by name: a wrong letter leaves the controller without it."""
    mine.write_text(f"{MINE}\n    def {added}(self, now_ns, in_flight_bytes):\n        pass\n")
    done = sojourn("check", small, "--controller", f"{mine}:Mine")
    assert done.returncode == 0
    assert done.stderr == (f"note: controller 'mine': {sentence}\n" if sentence else "")


def test_misspelled_names_are_warnings_in_python(small: Path) -> None:
    class Own(Fixed):
        """`on_sends` is a helper, since `on_sent` is there as well."""

        on_sends = Fixed.on_sent

    with pytest.warns(UserWarning, match="`on_handshak`; did you mean `on_handshake`"):
        sojourn.run(small, "made", controllers={"made": made("on_handshak")})
    assert UserControllers({"own": Own}).misspelled == []
    (sentence,) = UserControllers({"made": made("recieve_times", True)}).misspelled
    assert sentence.endswith(
        "nobody reads its attribute `recieve_times`; did you mean `receive_times`?"
    )


def made(name: str, value: object = lambda *_: None) -> type:
    """Return a controller with one more method or attribute."""

    def limits(_: object) -> sojourn.Limits:
        return sojourn.Limits(cwnd_bytes=20_000)

    methods = {"limits": limits, "on_feedback": lambda *_: None, name: value}
    return type("Made", (), {"__init__": lambda *_: None, **methods})


def test_a_missing_method_names_the_one_to_rename(small: Path) -> None:
    kind = made("on_feedbck")
    del kind.on_feedback  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="no method `on_feedback`; rename `on_feedbck`"):
        sojourn.run(small, controllers={"made": kind})
