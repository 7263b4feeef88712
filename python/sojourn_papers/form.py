"""The forms of a paper's figures."""

from typing import Literal

Form = Literal["figure", "live figure", "stack figure", "live stack figure"]
"""Simulated; live; with a real QUIC stack in virtual time; or with the stack live, too."""
