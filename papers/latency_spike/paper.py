"""A lower bound on latency spikes: the delay that a sudden capacity drop costs a bulk flow."""

from sojourn_papers import Figure, Paper

from .figure_3 import figure_3
from .figure_5 import figure_5
from .flows import flows
from .live import spikes
from .loss import loss
from .mitigations import mitigations

PAPER = Paper(
    "A lower bound on latency spikes for capacity-seeking network traffic",
    "Teigen, Davies, Ellefsen, Skeie, Torresen, Grazia",
    {
        "3": Figure("Minimum spike by loop delay and capacity ratio", figure_3),
        "5": Figure("Spikes of real controllers on the testbed", figure_5),
        "loss": Figure("Equation 3, and loss against delay with AQMs", loss),
        "flows": Figure("Two flows with different delays in one queue", flows),
        "mitigations": Figure("Simulated mitigations of a spike", mitigations),
    },
    live={"5": Figure("Spikes of real hosts after a drop of the capacity", spikes)},
)
