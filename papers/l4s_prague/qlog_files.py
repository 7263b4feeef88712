"""The downloads as qlog files, the format of the text's figures, and their figures read back."""

from pathlib import Path

from sojourn import qlog
from sojourn.picture import chart
from sojourn.run.results import Run
from sojourn_papers import Claim, Lab

from .downloads import SENDERS, download, flow_of
from .pictures import counts, rtts, window

# Sampling interval, the same as in the scenario.
_INTERVAL_S = 0.001


def qlogs(lab: Lab) -> list[Claim]:
    """Write the events of every sender, and draw one sender from its file alone."""
    place = lab.out / "qlog"
    place.mkdir()
    claims = []
    for name, sender in SENDERS.items():
        run = download(lab, name, qlog=place / name)
        (file,) = (place / name).glob("*.files.sender.sqlog")
        back, damages = qlog.read(file, run.runs[0]["control"], _INTERVAL_S)
        claims.append(_claim(sender.title, file, run, back, len(damages)))
        if name == "repaired":
            _draw(lab, back)
    lab.note(
        "The folder `qlog`, next to the pictures, has the files of both endpoints, in the format "
        "of draft-ietf-quic-qlog-main-schema-13 and -quic-events-12. `sojourn qlog FILE` draws one."
    )
    return claims


def _claim(title: str, file: Path, run: Run, back: Run, damages: int) -> Claim:
    keys = ("sent_packets", "retransmitted_packets", "marked_packets")
    # Each text follows a record separator (RFC 7464); the first text is the header.
    events = file.read_bytes().count(b"\x1e") - 1
    found, truth = (
        "{} packets sent, {} retransmitted, {} marked".format(*(flow[key] for key in keys))  # type: ignore[literal-required]
        for flow in (flow_of(back), flow_of(run))
    )
    agrees = "equal to the run's counts" if found == truth else f"the run's counts: {truth}"
    return Claim(
        f"{title}: counts read from its qlog file",
        None,
        f"{events} events: {found}",
        "",
        None,
        f"{agrees}; {damages} unreadable lines",
    )


def _draw(lab: Lab, back: Run) -> None:
    published = lab.published()["repaired"]
    panels = [rtts(back, published), window(back), counts(back)]
    title = f"Four downloads: {SENDERS['repaired'].title}"
    lab.draw("qlog", chart.Document(title, "drawn from its qlog file alone", panels))
