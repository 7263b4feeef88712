"""Captures and qlog files of any program."""
