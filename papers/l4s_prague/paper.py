"""Prague over L4S: four downloads, and the effect of a pause on a sender with a full bucket."""

from sojourn_papers import Claim, Figure, Lab, Paper

from .downloads import BESIDE, PUBLISHED, handshake_note
from .idle import bucket, idle
from .pictures import picture, times
from .qlog_files import qlogs
from .stack import downloads, live_downloads


def beside(lab: Lab) -> list[Claim]:
    """Repeat the downloads for other controllers that the text names, and for later ones."""
    return [claim for name in BESIDE for claim in picture(lab, name)]


def all_times(lab: Lab) -> list[Claim]:
    """Compare completion times, marks and losses of all senders in one table and one figure."""
    handshake_note(lab)
    return times(lab, (*PUBLISHED, *BESIDE))


PAPER = Paper(
    "A low latency Internet with L4S",
    "Huitema, 5 July 2022, with the additions of a few hours later",
    {
        "1": Figure(
            "Prague before the repair: rate, RTT and window",
            lambda lab: picture(lab, "unrepaired"),
        ),
        "2": Figure("New Reno on the same link", lambda lab: picture(lab, "reno")),
        "3": Figure("Prague with the repair", lambda lab: picture(lab, "repaired")),
        "times": Figure("All senders: time, marks and losses", all_times),
        "beside": Figure("The draft's Prague, CUBIC and BBR on the same link", beside),
        "idle": Figure("Effect of a full bucket after a pause", idle),
        "qlog": Figure("The downloads as qlog files", qlogs),
        "bucket": Figure("Effect of the repair by bucket size", bucket),
    },
    stacks={"times": Figure("All senders in a QUIC stack, beside the model", downloads)},
    live_stacks={
        "times": Figure("Prague in a QUIC stack over UDP, beside virtual time", live_downloads)
    },
)
