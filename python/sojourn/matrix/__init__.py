"""Every controller over every queue: planned, simulated, tabulated, drawn."""
