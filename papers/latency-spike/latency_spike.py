"""A lower bound on latency spikes: the delay that a sudden capacity drop costs a bulk flow."""

from latency_spike_fig3 import figure_3
from latency_spike_fig5 import figure_5
from latency_spike_flows import flows
from latency_spike_loss import loss
from latency_spike_mitigations import mitigations
from sojourn.papers import Figure, Paper

PAPER = Paper(
    "A lower bound on latency spikes for capacity-seeking network traffic",
    "Teigen, Davies, Ellefsen, Skeie, Torresen, Grazia",
    {
        "3": Figure("The least spike over loop delay and capacity ratio", figure_3),
        "5": Figure("Spikes of real controllers on the testbed", figure_5),
        "loss": Figure("Equation 3, and what AQMs pay for less delay", loss),
        "flows": Figure("Two flows of different delay on one queue", flows),
        "mitigations": Figure("What mitigates a spike, simulated", mitigations),
    },
)
