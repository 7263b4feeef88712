"""Captures of flows that a real QUIC stack carries: packets that tshark decrypts, and qlog."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import sojourn
from sojourn import LiveError
from support import leave_out_live
from test_exports import fields, needs_tshark, tshark

DOWNLOAD = """\
duration = "3s"
host = "rfc"

[link.down]
rate   = "10Mbit"
delay  = "10ms"
buffer = "20ms"
queue  = { kind = "threshold", ce_threshold = "1ms" }

[link.up]
rate  = "10Mbit"
delay = "10ms"

[flow.file]
control   = "CONTROL"
path      = ["down"]
back      = ["up"]
stack = { kind = "STACK", crypto = "CRYPTO" }
source    = { kind = "request", request = "257B", response = "300kB", count = 1 }
"""

REQUEST = '{ kind = "request", request = "257B", response = "300kB", count = 1 }'
STACKS = ("noq", "quinn")


def captured(
    tmp_path: Path, stack: str, crypto: str = "tls", control: str = "prague", source: str = ""
) -> tuple[Any, Path]:
    """Return the run's summary, and the folder of its captures; `source` replaces the request."""
    text = DOWNLOAD.replace("STACK", stack).replace("CRYPTO", crypto).replace("CONTROL", control)
    text = text.replace(REQUEST, source or REQUEST)
    folder = tmp_path / stack
    run = sojourn.run(text, pcapng=folder, qlog=folder)
    assert run.runs[0]["flows"][0]["completed_transfers"] == 1
    return run.runs[0], folder


@pytest.mark.long
@needs_tshark
@pytest.mark.parametrize("stack", STACKS)
def test_tshark_decrypts_every_packet(tmp_path: Path, stack: str) -> None:
    run, folder = captured(tmp_path, stack)
    flow, links = run["flows"][0], {link["name"]: link for link in run["links"]}
    sender, receiver = folder / "run-1.sender.pcapng", folder / "run-1.receiver.pcapng"
    for file in (sender, receiver):
        datagrams = len(tshark(file, "-Y", "quic"))
        assert datagrams == len(tshark(file))
        assert tshark(file, "-Y", "_ws.malformed || quic.decryption_failed") == []
        # A packet number shows that the header was decrypted, a frame that the payload was.
        assert len(tshark(file, "-Y", "quic.packet_number && quic.frame")) == datagrams
        bad = "ip.checksum.status == 0 || udp.checksum.status == 0"
        assert tshark(file, "-o", "udp.check_checksum:TRUE", "-Y", bad) == []
    sent = fields(sender, "ip.src == 10.0.0.1", "ip.len", "ip.dsfield.ecn")
    assert len(sent) == flow["sent_packets"]
    assert {ecn for _, ecn in sent} <= {"0", "1"}
    arrived = fields(receiver, "ip.src == 10.0.0.1 && ip.dsfield.ecn == 3", "frame.number")
    assert len(arrived) == links["down"]["marked_packets"] > 0
    names = fields(sender, "tls.handshake.extensions_server_name", "tls.handshake.type")
    assert names
    response = fields(receiver, "quic.stream_data && ip.src == 10.0.0.1", "quic.stream.offset")
    assert max(int(part) for row in response for part in row[0].split(",") if part) > 290_000


@needs_tshark
def test_the_file_of_secrets_decrypts_packets_without_the_block(tmp_path: Path) -> None:
    _, folder = captured(tmp_path, "noq")
    lines = (folder / "run-1.keys.log").read_text().splitlines()
    assert [line.split()[0] for line in lines] == [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
        "EXPORTER_SECRET",
    ]
    bare = tmp_path / "bare.pcap"
    subprocess.run(
        ["tshark", "-r", folder / "run-1.sender.pcapng", "-F", "pcap", "-w", bare], check=True
    )
    assert tshark(bare, "-Y", "quic.stream_data") == []
    keys = ("-o", f"tls.keylog_file:{folder / 'run-1.keys.log'}")
    assert len(tshark(bare, *keys, "-Y", "quic.stream_data")) > 200


@needs_tshark
def test_tshark_decrypts_a_live_run(tmp_path: Path) -> None:
    text = DOWNLOAD.replace("STACK", "noq").replace("CRYPTO", "tls").replace("CONTROL", "prague")
    try:
        folder = tmp_path / "live"
        run = sojourn.live(text.replace('"3s"', '"1s"'), pcapng=folder, qlog=folder)
    except LiveError as error:
        leave_out_live(error)
    assert run.runs[0]["flows"][0]["completed_transfers"] == 1
    for end in ("sender", "receiver"):
        file = tmp_path / "live" / f"run-1.{end}.pcapng"
        datagrams = len(tshark(file, "-Y", "quic"))
        assert datagrams == len(tshark(file)) > 200
        assert tshark(file, "-Y", "_ws.malformed || quic.decryption_failed") == []
        assert len(tshark(file, "-Y", "quic.packet_number && quic.frame")) == datagrams
    lines = (tmp_path / "live" / "run-1.keys.log").read_text().splitlines()
    assert "SERVER_TRAFFIC_SECRET_0" in {line.split()[0] for line in lines}
    numbers = [numbers_of(folder / f"run-1.file.{end}.sqlog") for end in ("sender", "receiver")]
    (sent, heard), (asked, received) = numbers
    assert 200 < len(received) <= len(sent)
    assert received <= sent
    assert heard <= asked


def numbers_of(file: Path) -> list[set[tuple[str, int]]]:
    """Return the packets that an end sent, and those that it received, by type and number."""
    events = [json.loads(line) for line in file.read_text().split("\x1e")[2:]]
    found: dict[str, set[tuple[str, int]]] = {"sent": set(), "received": set(), "lost": set()}
    for event in filter(is_packet, events):
        header = event["data"]["header"]
        kind = event["name"].removeprefix("quic:packet_")
        found[kind].add((header["packet_type"], header["packet_number"]))
    return [found["sent"], found["received"]]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("crypto", ["tls", "none"])
def test_events_of_both_ends(tmp_path: Path, stack: str, crypto: str) -> None:
    run, folder = captured(tmp_path, stack, crypto)
    down = next(link for link in run["links"] if link["name"] == "down")
    counts = {}
    for end in ("receiver", "sender"):
        file = folder / f"run-1.file.{end}.sqlog"
        events = [json.loads(line) for line in file.read_text().split("\x1e")[2:]]
        assert [event["time"] for event in events] == sorted(event["time"] for event in events)
        packets = {"packet_sent": 0, "packet_received": 0}
        marked = 0
        for event in events:
            name, data = event["name"].removeprefix("quic:"), event["data"]
            if name in packets:
                packets[name] += 1
                acks = [one for one in data["frames"] if one["frame_type"] == "ack"]
                marked = max([marked, *(ack.get("ce", 0) for ack in acks)])
        types = {event["data"]["header"]["packet_type"] for event in events if is_packet(event)}
        assert types == {"initial", "handshake", "1RTT"}
        counts[end] = (packets["packet_sent"], packets["packet_received"], marked)
    (client_sent, client_received, _), (server_sent, server_received, heard) = counts.values()
    assert client_received == server_sent - down["dropped_packets"]
    # The server's endpoint reads the client's first packet before the connection has its keys.
    assert server_received == client_sent - 1
    assert heard == down["marked_packets"] > 0


def is_packet(event: Any) -> bool:
    """Return whether it is about a packet."""
    return "header" in event["data"]


# The receiver opens the connection with its request, and the sender that of a file.
@pytest.mark.parametrize("source", ["", '{ kind = "file", size = "300kB" }'])
@pytest.mark.parametrize("stack", STACKS)
def test_events_of_the_sender_can_be_read_back(tmp_path: Path, stack: str, source: str) -> None:
    run, folder = captured(tmp_path, stack, control="bbr3", source=source)
    back, damages = sojourn.qlog.read(folder / "run-1.file.sender.sqlog")
    assert damages == []
    found, truth = back.runs[0]["flows"][0], run["flows"][0]
    # A datagram of the handshake may have two packets.
    assert 0 <= found["sent_packets"] - truth["sent_packets"] <= 1
    assert found["retransmitted_packets"] == truth["retransmitted_packets"] > 0
    # The events have the round trips of the handshake too, shorter ones without a queue.
    assert found["rtt_min_s"] == pytest.approx(truth["rtt_min_s"], rel=0.05)
    assert found["rtt_p50_s"] == pytest.approx(truth["rtt_p50_s"], rel=0.05)


@pytest.mark.parametrize("stack", STACKS)
def test_captures_change_nothing(tmp_path: Path, stack: str) -> None:
    run, folder = captured(tmp_path, stack)
    text = DOWNLOAD.replace("STACK", stack).replace("CRYPTO", "tls").replace("CONTROL", "prague")
    assert sojourn.run(text).runs[0]["flows"] == run["flows"]
    shutil.rmtree(folder)
    again, _ = captured(tmp_path, stack)
    assert again["flows"] == run["flows"]
