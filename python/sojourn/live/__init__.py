"""Live runs: real time, over this machine's network stack."""
