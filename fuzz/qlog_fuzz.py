"""Fuzz the reader of qlog files, with libFuzzer's options as for the other targets."""

import random
import sys

import atheris

with atheris.instrument_imports(include=["sojourn.qlog", "qlog_target"]):
    import qlog_target


def _mutate(data: bytes, max_size: int, seed: int) -> bytes:
    chance = random.Random(seed)
    mutated = qlog_target.mutate(data, chance) if chance.randrange(4) else None
    return atheris.Mutate(data, max_size) if mutated is None else mutated[:max_size]


atheris.Setup(sys.argv, qlog_target.check, custom_mutator=_mutate)
atheris.Fuzz()
