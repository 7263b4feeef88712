"""The cells of the witness: a path and its flows, for the kernel and for the simulator."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]

# Size of a packet in HTB and the queues of Linux: with Ethernet's header.
FRAME = 1514
MSS = 1448
ETHERNET = "14B"


@dataclass(frozen=True)
class Flow:
    """A flow from `start` on: a file, or data without end."""

    control: str
    start: float = 0.0
    size: int = 0


@dataclass(frozen=True)
class Cell:
    """Flows over a shaper with a queue."""

    flows: Sequence[Flow]
    rate: int
    """Mbit/s."""
    rtt: int
    """Base RTT in ms. Half of it is on each way."""
    queue: str
    steps: Sequence[tuple[float, int]] = ()
    """Changes of the rate."""
    wire: Mapping[str, float] = field(default_factory=dict)
    """`loss` or `reorder` behind the shaper, as probabilities."""
    seconds: float = 20.0
    measured_from: float = 5.0

    @property
    def name(self) -> str:
        """Name with all that differs between cells."""
        flows = "+".join(
            flow.control + (f" {flow.size // 1000}kB" if flow.size else "") for flow in self.flows
        )
        steps = "".join(f", {rate} from {at:g} s" for at, rate in self.steps)
        wire = "".join(f", {what} {share:.0%}" for what, share in self.wire.items())
        return f"{flows}: {self.rate} Mbit/s{steps}, {self.rtt} ms, {self.queue}{wire}"

    @property
    def packets(self) -> int:
        """Limit of `pfifo`: a bandwidth-delay product, or 50 packets."""
        return max(50, round(self.rate * self.rtt * 125 / FRAME))


@dataclass(frozen=True)
class Queue:
    """A queue as arguments of `tc`, and as a scenario has it."""

    tc: str
    inner: object
    buffer: str | None = None
    is_shaper: bool = False


def wlog(burst: int, least: int) -> int:
    """Return the weight of RED's average, as a power of 1/2, that `tc` chooses for a burst."""
    room = burst + 1 - least / FRAME
    return next(
        power for power in range(1, 32) if room <= (1 - (1 - 0.5**power) ** burst) / 0.5**power
    )


def red(cell: Cell, least: int, most: int, ecn: bool, burst: int, chance: float) -> Queue:
    """Return RED with thresholds in packets."""
    limit = 1000 * FRAME
    marks = " ecn" if ecn else ""
    return Queue(
        tc=f"red limit {limit} min {least * FRAME} max {most * FRAME} avpkt {FRAME} burst {burst} "
        f"probability {chance} bandwidth {cell.rate}mbit{marks}",
        inner={
            "kind": "red",
            "unit": "bytes",
            "min_th": least,
            "max_th": most,
            "max_p": chance,
            "w_q": 0.5 ** wlog(burst, least * FRAME),
            "bandwidth": f"{cell.rate}Mbit",
            "ecn": ecn,
        },
        buffer=f"{limit}B",
    )


def queue_of(cell: Cell) -> Queue:
    """Return the queue that a cell names."""
    match cell.queue:
        case "pfifo":
            return Queue(f"pfifo limit {cell.packets}", "droptail", f"{cell.packets}packets")
        case "fq_codel":
            return Queue("fq_codel", "fq_codel")
        case "codel":
            return Queue("codel", "codel")
        case "ce_threshold":
            marks = {"kind": "codel", "ecn": True, "ce_threshold": "1ms"}
            return Queue("codel ecn ce_threshold 1ms", marks)
        case "pie":
            return Queue("pie", "pie_linux")
        case "pie ecn":
            return Queue("pie ecn", {"kind": "pie_linux", "ecn": True})
        case "red":
            return red(cell, 20, 60, False, 33, 0.02)
        case "red step":
            # DCTCP: the queue itself decides, at 30 packets.
            return red(cell, 30, 31, True, 31, 1.0)
        case "cake":
            shaper = {"kind": "cake", "bandwidth": f"{cell.rate}Mbit"}
            return Queue(f"cake bandwidth {cell.rate}mbit", shaper, is_shaper=True)
    raise KeyError(cell.queue)


def script(cell: Cell, options: str = "") -> str:
    """Return the script that runs a cell on a kernel."""
    queue, half = queue_of(cell), f"{cell.rtt * 500}us"
    wire = {"loss": " loss {:g}%", "reorder": " reorder {:g}%"}
    damage = "".join(wire[what].format(100 * share) for what, share in cell.wire.items())
    flows = "".join(f" flow={flow.control},{flow.start},{flow.size}" for flow in cell.flows)
    shape = "class {} dev out parent 1: classid 1:1 htb rate {}mbit"
    steps = "".join(f" at='{at},{shape.format('change', rate)}'" for at, rate in cell.steps)
    if all(flow.size for flow in cell.flows):
        # The first connection of a machine takes 12 ms more, for work that is done once.
        flows += " flow=reno,0.0,10000"
    lines = [
        f"tc -n router qdisc add dev in root netem limit 1000000 delay {half}",
        f"tc -n wire qdisc add dev out root netem limit 1000000 delay {half}{damage}",
    ]
    if queue.is_shaper:
        lines.append(f"tc -n router qdisc add dev out root {queue.tc}")
    else:
        lines += [
            "tc -n router qdisc add dev out root handle 1: htb default 1",
            f"tc -n router {shape.format('add', cell.rate)}",
            f"tc -n router qdisc add dev out parent 1:1 handle 10: {queue.tc}",
        ]
    lines.append(f"traffic seconds={cell.seconds} from={cell.measured_from}{flows}{steps}{options}")
    return "\n".join(lines) + "\n"


def scenario(cell: Cell, host: str) -> Row:
    """Return the scenario that simulates a cell."""
    queue, half = queue_of(cell), f"{cell.rtt * 500}us"
    changes = [{"at": f"{at}s", "rate": f"{rate}Mbit"} for at, rate in cell.steps]
    rate: object = f"{cell.rate}Mbit"
    if changes:
        rate = {"start": rate, "steps": changes}
    shaper = {"kind": "htb", "rate": rate, "inner": queue.inner}
    router: Row = {
        "rate": "10Gbit",
        "delay": half,
        "overhead": ETHERNET,
        "queue": queue.inner if queue.is_shaper else shaper,
        **cell.wire,
    }
    if queue.buffer:
        router["buffer"] = queue.buffer
    interface = {"rate": "10Gbit", "ring": {"packets": 256}}
    return {
        "duration": f"{cell.seconds}s",
        "host": host,
        "measure": {"from": f"{cell.measured_from}s"},
        "link": {"interface": interface, "router": router, "back": {"delay": half}},
        "flow": {f"flow{index}": simulated(flow) for index, flow in enumerate(cell.flows)},
    }


def simulated(flow: Flow) -> Row:
    """Return the flow of a scenario."""
    made: Row = {
        "control": flow.control,
        "path": ["interface", "router"],
        "back": ["back"],
        "start": f"{flow.start}s",
    }
    if flow.size:
        made["source"] = {"kind": "file", "size": f"{flow.size}B"}
    return made


def one(control: str) -> tuple[Flow, ...]:
    """Return one flow."""
    return (Flow(control),)


def singles() -> Iterator[Cell]:
    """Yield one flow over each queue."""
    for control in ("cubic", "reno", "bbr"):
        for rate, rtt in ((10, 20), (50, 5), (50, 20), (50, 50), (100, 20)):
            yield Cell(one(control), rate, rtt, "pfifo")
        for queue in ("fq_codel", "pie", "red", "cake"):
            for rate, rtt in ((10, 20), (50, 50)):
                yield Cell(one(control), rate, rtt, queue)
    yield Cell(one("cubic"), 100, 5, "fq_codel")
    yield Cell(one("cubic"), 50, 20, "codel")
    yield Cell(one("vegas"), 50, 20, "pfifo")


def pairs() -> Iterator[Cell]:
    """Yield two flows, the second of which begins half a second later."""
    for first, second, rate, queue in (
        ("cubic", "bbr", 10, "pfifo"),
        ("cubic", "bbr", 50, "pfifo"),
        ("cubic", "bbr", 50, "fq_codel"),
        ("cubic", "bbr", 50, "pie"),
        ("vegas", "cubic", 10, "pfifo"),
        ("vegas", "cubic", 50, "pfifo"),
        ("dctcp", "dctcp", 10, "red step"),
        ("dctcp", "dctcp", 50, "red step"),
        ("dctcp", "dctcp", 50, "ce_threshold"),
        ("dctcp", "dctcp", 50, "pie ecn"),
    ):
        yield Cell((Flow(first), Flow(second, 0.5)), rate, 20, queue)


def others() -> Iterator[Cell]:
    """Yield damage on the wire, changes of the rate, and files."""
    for control in ("cubic", "reno", "bbr"):
        yield Cell(one(control), 50, 20, "pfifo", wire={"loss": 0.01})
        yield Cell(one(control), 50, 20, "pfifo", wire={"reorder": 0.01})
    steps = ((10.0, 20), (15.0, 50))
    for control, queue in (
        ("cubic", "pfifo"),
        ("cubic", "fq_codel"),
        ("bbr", "pfifo"),
        ("bbr", "fq_codel"),
    ):
        yield Cell(one(control), 50, 20, queue, steps)
    yield Cell((Flow("dctcp"), Flow("dctcp", 0.5)), 60, 20, "red step", ((10.0, 20), (15.0, 60)))
    for size in (100_000, 1_000_000):
        for control in ("cubic", "bbr"):
            yield Cell(files(control, size, 1.0), 50, 20, "pfifo", measured_from=0.0, seconds=7.0)
    beside = (Flow("cubic"), *files("cubic", 1_000_000, 3.0))
    yield Cell(beside, 50, 20, "fq_codel", measured_from=0.0, seconds=9.0)


def files(control: str, size: int, start: float) -> tuple[Flow, ...]:
    """Return a file each second."""
    return tuple(Flow(control, start + second, size) for second in range(5))


CELLS: tuple[Cell, ...] = (*singles(), *pairs(), *others())
