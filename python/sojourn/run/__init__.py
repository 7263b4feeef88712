"""Simulations: a scenario, its runs, and their results in Python."""
