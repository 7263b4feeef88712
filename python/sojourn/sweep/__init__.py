"""Sweeps: many runs of one scenario over axes of its keys, as a dataset (docs/guide/sweeps.md)."""
