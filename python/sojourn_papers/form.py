"""The forms of a paper's figures."""

from typing import Literal

Form = Literal["figure", "live figure", "stack figure"]
"""Simulated, live, or simulated with a real QUIC stack."""
