"""The packet-scale paradigm under bursts of cross traffic: Rapid's fluid model and simulation."""

from sojourn_papers import Figure, Paper

from . import cases, figure_9, live, residual_queue, round_trip, validation

PAPER = Paper(
    "Impact of cross traffic burstiness on the packet-scale paradigm: an extended analysis",
    "Lovewell, Kaur: UNC Chapel Hill TR11-007, 2011",
    {
        "observation-1": Figure(
            "A residual queue does not change the estimates", residual_queue.observation_1
        ),
        "3": Figure("A burst, and Rapid's reaction a round trip later", round_trip.figure_3),
        "4": Figure("Best-case and worst-case queue", round_trip.figure_4),
        "5": Figure("Large-scale bursts: cases L1 to L3", cases.figure_5),
        "6": Figure("Large-scale bursts: model and simulation over time", validation.figure_6),
        "7": Figure("Small-scale bursts: cases S1 to S5", cases.figure_7),
        "8": Figure("Small-scale bursts: model and simulation over time", validation.figure_8),
        "9a": Figure("Utilisation over tau - eta", figure_9.figure_9a),
        "9b": Figure("Utilisation over the load", figure_9.figure_9b),
        "9c": Figure("Utilisation over T_on / T_off", figure_9.figure_9c),
    },
    live={
        "6": Figure("Large-scale bursts: Rapid over UDP at 100 Mbit/s", live.figure_6),
        "8": Figure("Small-scale bursts: Rapid over UDP at 100 Mbit/s", live.figure_8),
    },
)
