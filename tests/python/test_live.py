"""Live runs from the command line and from Python, where this machine allows them."""

import contextlib
import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import qlog_schema
import sojourn
from sojourn import captures, qlog
from support import WITHOUT_TUN, Sojourn, command, environment, leave_out_live, require

SMALL = """
duration = "3s"
controls = ["cubic"]

[link.bottleneck]
rate = "10Mbit"
delay = "10ms"
buffer = "40ms"

[link.back]
delay = "10ms"

[flow.upload]
path = ["bottleneck"]
back = ["back"]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a scenario; skip the tests on a machine without live runs."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "small.toml").write_text(SMALL)
    try:
        sojourn.live(folder / "small.toml", set={"duration": "100ms"})
    except sojourn.LiveError as error:
        leave_out_live(error)
    return folder


# A user without privilege.
USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
# Root of a user namespace, without further namespaces.
NO_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c"]
NO_NAMESPACES += ['echo 0 >/proc/sys/user/max_$0_namespaces && exec "$@"']


def assert_conserved(live: dict[str, Any], links: list[dict[str, Any]]) -> None:
    """Check that each packet is accounted for. A user's buffer may be too small without TUN."""
    left = live["delivered_packets"] + live["refused_packets"] + live["inside_packets"]
    assert live["entered_packets"] == left + sum(link["dropped_packets"] for link in links)
    if live["device"] == "tun":
        assert live["overflowed_packets"] == live["refused_packets"] == 0


@pytest.mark.parametrize("stack", ["kernel", "udp"])
def test_a_live_run_is_recorded_as_a_simulation(place: Path, sojourn: Sojourn, stack: str) -> None:
    out = place / stack
    done = sojourn("live", place / "small.toml", "--stack", stack, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    live, (flow,), links = run["live"], run["flows"], run["links"]
    assert_conserved(live, links)
    assert live["paced_by"] == ("timer" if stack == "udp" else None)
    # The link carries at most its rate, also in a run that the machine disturbs.
    assert 0 < flow["goodput_bps"] <= 10e6
    assert flow["sent_packets"] > 100
    assert flow["rtt_min_s"] >= 0.020
    assert {"flows.parquet", "links.parquet", "report.html"} <= {one.name for one in out.iterdir()}


def test_without_tun_a_run_says_so_and_accounts_for_each_packet(place: Path) -> None:
    require(WITHOUT_TUN)
    args = [*WITHOUT_TUN, *command("live", place / "small.toml", "--out", place / "without-tun")]
    done = subprocess.run(args, cwd=place, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "live with the kernel's TCP over veth pairs" in done.stdout
    assert "the timing is not guaranteed: no TUN device" in " ".join(done.stdout.split())
    (run,) = json.loads((place / "without-tun" / "summary.json").read_text())["runs"]
    live, (flow,) = run["live"], run["flows"]
    assert live["device"] == "veth"
    assert live["timing_note"].startswith("the timing is not guaranteed: no TUN device (cannot")
    assert_conserved(live, run["links"])
    assert flow["sent_packets"] > 100


def test_simulation_and_live_run_are_compared(place: Path, sojourn: Sojourn) -> None:
    scenario = place / "small.toml"
    assert sojourn("run", scenario, "--out", place / "simulated").returncode == 0
    assert sojourn("live", scenario, "--ipv6", "--out", place / "live").returncode == 0
    done = sojourn("compare", place / "simulated", place / "live", "--json")
    assert done.returncode == 0, done.stderr
    (link,) = [one for one in json.loads(done.stdout)["links"] if one["name"] == "bottleneck"]
    assert link["name"] == "bottleneck"


@pytest.mark.parametrize("version", [[], ["--ipv6"]])
def test_a_capture_has_the_packets_of_the_record(
    place: Path, sojourn: Sojourn, version: list[str]
) -> None:
    folder = place / f"captures{len(version)}"
    done = sojourn("live", place / "small.toml", *version, "--pcapng", folder, "--json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    live, (flow,) = run["live"], run["flows"]
    found = {end: captures.rtt(folder / f"cubic-1.{end}.pcapng") for end in ("sender", "receiver")}
    assert found["sender"]["error"] is found["receiver"]["error"] is None
    packets = sum(one["packets"] for one in found.values())
    assert packets == live["captured_packets"]
    passed = live["entered_packets"] + live["delivered_packets"]
    assert packets + live["uncaptured_packets"] == passed
    (connection,) = found["sender"]["flows"]
    data, _ = connection["directions"]
    assert data["packets"] == flow["sent_packets"]
    assert data["resent_packets"] == flow["retransmitted_packets"]
    # The same packets, measured by timestamps of 1 ms here, and by acknowledgements there.
    assert data["min_s"] == pytest.approx(flow["rtt_min_s"], abs=2e-3)
    assert 0 <= found["sender"]["duration_s"] <= run["duration_s"]


def test_packets_and_events_over_udp_are_those_of_the_record(place: Path, sojourn: Sojourn) -> None:
    folder = place / "udp-files"
    files = ["--qlog", folder, "--pcapng", folder]
    done = sojourn("live", place / "small.toml", "--stack", "udp", *files, "--json")
    assert done.returncode == 0, done.stderr
    names = ("receiver.pcapng", "sender.pcapng", "upload.sender.sqlog")
    assert sorted(one.name for one in folder.iterdir()) == [f"cubic-1.{name}" for name in names]
    (run,) = json.loads(done.stdout)["runs"]
    live, (flow,) = run["live"], run["flows"]
    found = [captures.rtt(folder / f"cubic-1.{name}") for name in names[:2]]
    assert sum(one["packets"] for one in found) == live["captured_packets"]
    events = folder / f"cubic-1.{names[2]}"
    assert {"quic:packet_sent", "quic:packet_lost"} <= qlog_schema.require(events)
    back, damages = qlog.read(events)
    assert damages == []
    logged = back.runs[0]["flows"][0]
    # HELLO, PING and CLOSE have no data, and qlog has no event for them.
    assert 0 <= flow["sent_packets"] - logged["sent_packets"] <= 3
    assert logged["retransmitted_packets"] == flow["retransmitted_packets"] > 0
    # The RTTs are measured from the same packets.
    assert logged["rtt_min_s"] == pytest.approx(flow["rtt_min_s"], rel=0.01)
    assert logged["rtt_p50_s"] == pytest.approx(flow["rtt_p50_s"], rel=0.05)


def test_events_of_the_kernels_tcp_are_its_states(place: Path, sojourn: Sojourn) -> None:
    folder = place / "kernel-events"
    done = sojourn("live", place / "small.toml", "--qlog", folder, "--json")
    assert done.returncode == 0, done.stderr
    (file,) = folder.iterdir()
    assert file.name == "cubic-1.upload.sender.sqlog"
    states = ("connection_started", "recovery_metrics_updated", "congestion_state_updated")
    assert qlog_schema.require(file) == {f"quic:{name}" for name in states}
    events = [one["data"] for one in qlog_schema.texts(file)[1:]]
    assert min(one["min_rtt"] for one in events if "min_rtt" in one) >= 20
    assert max(one["congestion_window"] for one in events if "congestion_window" in one) > 20_000


def test_a_scenario_without_events_is_refused(place: Path, sojourn: Sojourn) -> None:
    text = SMALL.replace('controls = ["cubic"]', "") + 'source = "ping"\n'
    (place / "pings.toml").write_text(text)
    done = sojourn("live", place / "pings.toml", "--qlog", place / "no-events", "--json")
    assert done.returncode == 2
    assert "no flow has a transport whose events qlog could have" in done.stderr
    assert not (place / "no-events").exists()


def test_a_trace_has_a_row_for_each_acknowledgement(place: Path, sojourn: Sojourn) -> None:
    folder = place / "acks"
    done = sojourn("live", place / "small.toml", "--tcp-probe", folder, "--json")
    if done.returncode == 2 and "only root can load" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    (file,) = folder.iterdir()
    assert file.name == "cubic-1.acks.parquet"
    acks = pl.read_parquet(file)
    live, (_, back) = run["live"], run["links"]
    assert (len(acks), live["missed_ack_rows"]) == (live["ack_rows"], 0)
    # The kernel does not trace the segments that open and end a connection.
    assert 0 <= back["delivered_packets"] - len(acks) <= 3
    assert acks["t_s"].is_sorted()
    assert acks["flow"].unique().to_list() == ["upload"]
    # The payload of all packets that arrived, except those under way at the end.
    packets = run["flows"][0]["sent_packets"]
    acked = int(acks["acked_bytes"].sum())
    assert 0.5 * packets * 1448 < acked <= packets * 1460
    assert acks["srtt_s"].drop_nulls().min() > 0.020 - 1e-3  # type: ignore[operator]


def test_a_trace_is_of_the_kernel_s_tcp(place: Path, sojourn: Sojourn) -> None:
    args = ("--stack", "udp", "--tcp-probe", place / "none")
    done = sojourn("live", place / "small.toml", *args)
    assert done.returncode == 2
    assert "--tcp-probe traces the kernel's TCP" in done.stderr
    assert not (place / "none").exists()


LAYERS = """
[flow.client]
path = ["back"]
back = ["bottleneck"]
start = "1s"
host = { handshake = "none", ack_every = 1 }
source = { kind = "request", request = "64B", response = "64B", interval = "100ms" }

[flow.ping]
control = "none"
path = ["bottleneck"]
back = ["back"]
start = "1s"
source = { kind = "ping", interval = "100ms" }
"""


@pytest.mark.parametrize("version", [[], ["--ipv6"]])
def test_three_layers_are_measured_in_one_run(
    place: Path, sojourn: Sojourn, version: list[str]
) -> None:
    (place / "layers.toml").write_text(SMALL + LAYERS)
    folder = place / f"layers{len(version)}"
    done = sojourn("live", place / "layers.toml", *version, "--pcapng", folder, "--json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    _, client, ping = run["flows"]
    assert client["completed_transfers"] > 0
    assert ping["completed_transfers"] > 0
    # The client receives the responses: its requests begin and their answers end there.
    found = captures.rtt(folder / "cubic-1.receiver.pcapng")
    (tcp,) = [one for one in found["flows"] if one["a"]["address"].endswith((".0.2", "::1:2"))]
    requests, _ = tcp["directions"]
    assert requests["packets"] > client["completed_transfers"]
    passive = requests["p50_s"]
    assert passive is not None
    for median in (client["response_p50_s"], ping["rtt_p50_s"], passive):
        assert median >= 0.020 - 1e-3
    # Echo requests and replies are in the capture beside TCP.
    pings = ping["sent_packets"] + ping["completed_transfers"]
    assert found["skipped"]["not_tcp"] + 2 >= pings


REQUESTS = """
[flow.client]
path = ["back"]
back = ["bottleneck"]
source = { kind = "request", request = "64B", response = "10kB", interval = "100ms" }
"""


def test_requests_over_udp_are_recorded_as_in_a_simulation(place: Path) -> None:
    file = place / "requests.toml"
    file.write_text(SMALL.replace("3s", "2s") + REQUESTS)
    simulated, live = sojourn.run(file), sojourn.live(file, stack="udp")
    (_, expected), (_, found) = simulated.runs[0]["flows"], live.runs[0]["flows"]
    # A live run has hosts of its own.
    assert found.keys() | {"host"} == expected.keys()
    assert 0 < found["completed_transfers"] <= 20
    times: list[float] = live.flows["response_s"].drop_nulls().to_list()
    # One round trip of the path at least; the first one has that of the handshake, too.
    assert min(times) >= 0.020
    assert max(times) >= 0.040
    assert found["rtt_min_s"] is not None
    assert found["rtt_min_s"] >= 0.020


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_a_live_capture(place: Path, sojourn: Sojourn) -> None:
    folder = place / "for-tshark"
    done = sojourn("live", place / "small.toml", "--pcapng", folder, "--json")
    live = json.loads(done.stdout)["runs"][0]["live"]
    read = ["tshark", "-r", str(folder / "cubic-1.sender.pcapng")]
    read += ["-T", "fields", "-e", "frame.number", "-e", "_ws.malformed"]
    lines = subprocess.run(read, capture_output=True, text=True, check=True).stdout.splitlines()
    assert 100 < len(lines) < live["captured_packets"]
    assert not any("alformed" in line for line in lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--departures", "kernel"], "the kernel's TCP paces by itself; add --stack udp"),
        (["--bottleneck", "tc", "--pcapng", "no-packets"], "`tc` cannot make captures"),
        (["--qlog", "/dev/null/events"], "--qlog /dev/null/events: /dev/null is no folder"),
        (["--control", "vegas"], "the kernel has no congestion controller `vegas`"),
        (["--set", 'controls=[{kind="cubic",beta=0.5}]'], "with these parameters"),
    ],
)
def test_a_scenario_without_live_counterpart_is_refused(
    place: Path, sojourn: Sojourn, change: list[str], said: str
) -> None:
    done = sojourn("live", place / "small.toml", *change, "--out", place / "refused")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (place / "refused").exists()


def namespaces(pid: int) -> int:
    """Count the network namespaces that a process holds open."""
    found = 0
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found += str(one.readlink()).startswith("net:")
    return found


def test_an_interrupted_run_leaves_nothing(place: Path) -> None:
    args = command("live", place / "small.toml", "--set", "duration=60s", "--out", place / "cut")
    process = subprocess.Popen(args, cwd=place, env=environment(), stderr=subprocess.PIPE)
    while namespaces(process.pid) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert not (place / "cut").exists()
    assert not [one for one in place.iterdir() if one.name.startswith(".")]


def test_a_user_without_privilege_runs_in_a_user_namespace(place: Path) -> None:
    require(USER)
    require([*USER, "unshare", "--user", "--map-root-user"])
    args = [*USER, *command("live", place / "small.toml", "--json")]
    done = subprocess.run(args, cwd=place, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["flows"][0]["sent_packets"] > 100
    if not run["live"]["realtime"]:
        assert "no real-time priority" in run["live"]["timing_note"]


@pytest.mark.parametrize(
    ("namespace", "user", "said"),
    [
        ("user", ["setpriv", "--bounding-set=-all"], "raise the sysctl user.max_user_namespaces"),
        ("net", [], "raise the sysctl user.max_net_namespaces"),
    ],
)
def test_without_privilege_the_error_names_the_remedy(
    place: Path, namespace: str, user: list[str], said: str
) -> None:
    require([*NO_NAMESPACES, namespace, *user])
    for words in (["live", "small.toml", "--json"], ["shell", "small.toml", "--", "true"]):
        args = [*NO_NAMESPACES, namespace, *user, *command(*words)]
        done = subprocess.run(args, cwd=place, env=environment(), capture_output=True, text=True)
        assert done.returncode == 2, done.stdout
        assert done.stderr.startswith(f"sojourn: cannot create a {namespace}")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_the_commands_of_the_kernels_queues_are_printed(place: Path, sojourn: Sojourn) -> None:
    args = ("live", place / "small.toml", "--bottleneck", "tc", "--dry-run")
    done = sojourn(*args, "--out", place / "dry")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(line.startswith(("ip ", "tc ", "#", "sleep ")) for line in lines)
    assert any("htb rate 10000000bit" in line for line in lines)
    assert any(line.endswith("netem limit 10000000 delay 10000us") for line in lines)
    assert not (place / "dry").exists()
    # Pasted into a shell, the text leaves the links in place.
    undo = lines.index("# The links stay. These commands undo everything:")
    places = [f"sojourn-{one}" for one in ("senders", "router", "receivers")]
    assert lines[undo + 1 :] == [f"# ip netns delete {one}" for one in places]
    assert not any(" delete " in line for line in lines[:undo])


# Whether the kernel has the queue discipline that keeps departure times.
WITH_FQ = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "fq"]


def test_the_kernel_paces_where_it_has_fq(place: Path, sojourn: Sojourn) -> None:
    has_fq = shutil.which("tc") and subprocess.run(WITH_FQ, capture_output=True).returncode == 0
    args = ("--stack", "udp", "--control", "bbr", "--departures", "kernel", "--json")
    done = sojourn("live", place / "small.toml", *args)
    if not has_fq:
        assert done.returncode == 2, done.stdout
        assert "it has no queue discipline `fq`; load the module `sch_fq`" in done.stderr
        assert done.stderr.count("\n") == 1
        return
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["live"]["paced_by"] == "kernel"
    assert_conserved(run["live"], run["links"])
    assert run["flows"][0]["sent_packets"] > 100


def test_a_dry_run_without_tc_is_refused(place: Path, sojourn: Sojourn) -> None:
    done = sojourn("live", place / "small.toml", "--dry-run")
    assert done.returncode == 2
    assert "add --bottleneck tc" in done.stderr


def test_a_run_over_the_kernels_queues_is_compared(place: Path, sojourn: Sojourn) -> None:
    # Without delay, so that the kernel needs no netem.
    still = ["--set", "link.bottleneck.delay=0s", "--set", "link.back.delay=0s"]
    scenario = place / "small.toml"
    tc = ("--bottleneck", "tc", "--out", place / "tc")
    done = sojourn("live", scenario, *still, *tc, "--json")
    if done.returncode != 0:
        leave_out_live(done.stderr)
    (run,) = json.loads(done.stdout)["runs"]
    assert run["live"]["bottleneck"] == "tc"
    assert run["live"]["queue_delays"] == "estimated"
    # Without duplicates, the drops of a flow are exact.
    assert run["live"]["flow_drops"] == "counted"
    assert run["flows"][0]["sent_packets"] > 100
    assert sojourn("run", scenario, *still, "--out", place / "still").returncode == 0
    done = sojourn("compare", place / "still", place / "tc", "--json")
    assert done.returncode == 0, done.stderr


def test_a_queue_that_tc_cannot_make_is_refused(place: Path, sojourn: Sojourn) -> None:
    change = ("--set", 'link.bottleneck.queue="drr"')
    done = sojourn("live", place / "small.toml", *change, "--bottleneck", "tc")
    assert done.returncode == 2
    assert "link `bottleneck`: `tc` cannot make the queue `drr`" in done.stderr
    assert done.stderr.count("\n") == 1
