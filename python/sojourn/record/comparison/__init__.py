"""Comparison of two runs: matching, alignment in time, figures and tables."""
