"""`sojourn matrix`: every combination, its tables and its dataset."""

import json
from pathlib import Path

import pytest
import sojourn as package
from sojourn.sweep.matrix import measure, tables
from support import ROOT, Sojourn

SMALL = ("--controls", "cubic,ideal", "--queues", "droptail,codel", "--rtts", "10ms,40ms")


@pytest.mark.parametrize(
    ("goodputs", "index"), [([7.0, 7.0], 1.0), ([5.0, 0.0], 0.5), ([1.0, 3.0], 0.8), ([0.0], 1.0)]
)
def test_jain_s_index(goodputs: list[float], index: float) -> None:
    assert measure.jain(goodputs) == pytest.approx(index)


def test_every_combination_is_there_once(sojourn: Sojourn) -> None:
    done = sojourn("matrix", *SMALL, "--duration", "3s", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    combinations = [(one["queue"], *one["controls"], one["rtt"]) for one in found["cells"]]
    flows = [("cubic",), ("ideal",), ("cubic", "cubic"), ("ideal", "ideal")]
    assert combinations == [
        (queue, *controls, rtt)
        for queue in ("droptail", "codel")
        for controls in flows
        for rtt in ("10ms", "40ms")
    ]
    for one in found["cells"]:
        assert len(one["goodput_bps"]) == len(one["controls"])
        # Each goodput is over the flow's own lifetime.
        assert all(0 < bps <= 50e6 for bps in one["goodput_bps"])
        least, most = one["base_rtt_s"], one["base_rtt_s"] + 0.2
        assert all(least <= rtt <= most for rtt in one["rtt_p50_s"] + one["rtt_p99_s"])
        assert one["queue_delay_p50_s"] <= one["queue_delay_p99_s"] <= 0.1
    # The ideal controller shares a link only with its own kind; this must be reported.
    refused = [(one["queue"], one["controls"]) for one in found["refused"]]
    assert refused == [("droptail", ["cubic", "ideal"]), ("codel", ["cubic", "ideal"])]
    assert all("receives signals of link" in one["reason"] for one in found["refused"])


def test_every_queue_is_there_without_a_choice(sojourn: Sojourn) -> None:
    done = sojourn(
        *("matrix", "--controls", "cubic", "--rtts", "10ms", "--duration", "1500ms", "--json")
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {one["queue"] for one in found["cells"]} == {one["name"] for one in package.queues()}


def test_stacks_stand_beside_the_model(sojourn: Sojourn) -> None:
    axes = ("--controls", "cubic,ideal,rapid", "--queues", "codel", "--rtts", "10ms")
    done = sojourn("matrix", *axes, "--quic", "noq,quinn", "--duration", "2s", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    own = {(one["controls"][0], one["carrier"]): one for one in found["cells"] if one["carrier"]}
    models = [("ideal", "quic"), ("rapid", "quic")]
    assert list(own) == [("cubic", "quic"), ("cubic", "noq"), ("cubic", "quinn"), *models]
    model = own["cubic", "quic"]["goodput_bps"][0]
    for stack in ("noq", "quinn"):
        assert own["cubic", stack]["goodput_bps"][0] == pytest.approx(model, rel=0.02)
    refused = {(*one["controls"], one["carrier"]): one["reason"] for one in found["refused"]}
    for stack in ("noq", "quinn"):
        assert "receive times" in refused["rapid", stack]
        assert ("ideal", stack) in refused
    shown = sojourn("matrix", *axes, "--quic", "noq", "--duration", "2s").stdout
    rows = " ".join(shown.split())
    assert " cubic (noq) " in rows
    assert " cubic (quic) " in rows
    assert "rapid (noq): " in rows
    assert "Goodput in noq and in the model: differs by at most 2 % in 1 of 1 cells" in rows


def test_a_connection_that_a_stack_ends_has_a_mark(sojourn: Sojourn) -> None:
    axes = ("--controls", "cubic", "--queues", "droptail", "--rtts", "10ms", "--duration", "2s")
    found = json.loads(sojourn("matrix", *axes, "--quic", "noq", "--json").stdout)
    assert [one["closed"] for one in found["cells"]] == [[]] * len(found["cells"])
    next(one for one in found["cells"] if one["carrier"] == "noq")["closed"] = ["idle timeout"]
    assert tables.closings(found) == [
        "† The stack has ended the connection early (cells: 1): idle timeout"
    ]
    goodputs = {row.flows: row.texts[0] for row in tables.rows(found)}
    assert [name for name, texts in goodputs.items() if "†" in texts[0]] == ["cubic (noq)"]


def test_one_s_own_stands_among_them(sojourn: Sojourn) -> None:
    mine = ("--controller", f"{ROOT / 'docs' / 'own_controller.py'}:Mine")
    axes = ("--controls", "mine,cubic", "--queues", "codel", "--rtts", "10ms")
    done = sojourn("matrix", *mine, *axes, "--duration", "3s", "--json")
    assert done.returncode == 0, done.stderr
    who = [one["controls"] for one in json.loads(done.stdout)["cells"]]
    assert who == [["mine"], ["cubic"], ["mine", "mine"], ["mine", "cubic"], ["cubic", "cubic"]]


@pytest.mark.long
def test_a_dataset_gives_the_same_table_and_resumes(sojourn: Sojourn, tmp_path: Path) -> None:
    mine = ("--controller", f"{ROOT / 'docs' / 'own_controller.py'}:Mine")
    axes = ("--controls", "mine,cubic", "--queues", "codel", "--rtts", "10ms")
    line = ("matrix", *mine, *axes, "--duration", "3s", "--runs", "2", "--json")
    memory = sojourn(*line)
    kept = sojourn(*line, "--dataset", "kept", "--jobs", "2")
    assert kept.stdout == memory.stdout != ""
    batches = sorted((tmp_path / "kept" / "runs").iterdir())
    assert sojourn(*line, "--dataset", "kept").stdout == memory.stdout
    assert sorted((tmp_path / "kept" / "runs").iterdir()) == batches
    shown = json.loads(sojourn("sweep", "show", "kept", "--json").stdout)
    assert [(row["rtt_s"], row["n"]) for row in shown] == [(0.01, 2)] * 5
    alone = sojourn("sweep", "show", "kept", "--where", "beside == 'alone'", "--json")
    assert [row["controller"] for row in json.loads(alone.stdout)] == ["mine", "cubic"]
    nothing = sojourn("sweep", "show", "kept", "--where", "rtt == 20ms")
    assert "no point of kept fulfils the condition" in nothing.stderr
    refused = sojourn(*line, "--cluster", "tcp://127.0.0.1:1")
    assert refused.returncode == 2
    assert "--dataset" in refused.stderr


def test_threads_change_nothing(sojourn: Sojourn) -> None:
    one, two = (sojourn("matrix", *SMALL, "--duration", "2s", "--jobs", n) for n in ("1", "2"))
    assert one.stdout == two.stdout != ""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--controls", "cubik"), "there is no controller `cubik`; did you mean `cubic`?"),
        (("--queues", "kodel"), "there is no queue `kodel`; did you mean `codel`?"),
        (("--queues", "sfq"), "there is no queue `sfq`; there are: droptail"),
        (("--rtts", "10"), "--rtts: `delay` is `10`: the unit is missing; write a duration"),
        (("--rate", "0bit"), "--rate: "),
        (("--buffer", "5xx"), "--buffer: `buffer` is `5xx`"),
        (("--duration", "1h30"), "--duration: `duration` is `1h30`"),
        (("--stack", "nop"), "there is no stack `nop`; did you mean `noq`?"),
        (("--quic", "nop"), "--quic: there is no stack `nop`; did you mean `noq`?"),
        (("--quic", "noq", "--stack", "noq"), "give --stack"),
    ],
)
def test_bad_axes_are_refused(sojourn: Sojourn, args: tuple[str, ...], said: str) -> None:
    done = sojourn("matrix", *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr


def test_files_are_written_whole(sojourn: Sojourn, tmp_path: Path) -> None:
    done = sojourn("matrix", *SMALL, "--duration", "2s", "--out", "out")
    assert done.returncode == 0, done.stderr
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    maps = ["alone", "together-codel", "together-droptail"]
    assert names == sorted(
        ["matrix.json", *(f"{m}.{end}" for m in maps for end in ("html", "png", "svg"))]
    )
    assert sojourn("matrix", *SMALL, "--out", "out").returncode == 2


def test_queues_keep_their_promises(sojourn: Sojourn) -> None:
    axes = ("--controls", "cubic,prague", "--queues", "droptail,fq_codel,dualpi2")
    done = sojourn("matrix", *axes, "--rtts", "40ms", "--json")
    assert done.returncode == 0, done.stderr
    cells = {(one["queue"], *one["controls"]): one for one in json.loads(done.stdout)["cells"]}
    # Losses alone stop CUBIC, and drop-tail has none before its 100 ms are full.
    assert cells["droptail", "cubic"]["queue_delay_p99_s"] > 0.095
    # Fair queueing by deficit round robin (RFC 8290 section 4.2) shares by bytes, whatever a flow
    # does; over drop-tail, an answer to marks is none to losses, and does not matter.
    assert cells["fq_codel", "cubic", "prague"]["jain"] > 0.95
    # RFC 9332 appendix A: marks of L4S begin at minTh, 800 us, and are sure at 1.2 ms, so a sender
    # that answers them stays near; the classic target is 15 ms.
    prague, cubic = (cells["dualpi2", control] for control in ("prague", "cubic"))
    assert prague["queue_delay_p99_s"] < 0.003
    assert cubic["queue_delay_p50_s"] < 0.015
    assert cubic["queue_delay_p99_s"] > 4 * prague["queue_delay_p99_s"]
    assert min(prague["utilisation"], cubic["utilisation"]) > 0.9
