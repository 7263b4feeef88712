"""The record of a run: its figures, its series and its tables."""
