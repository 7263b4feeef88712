"""Every controller over every queue: plan, simulations, tables, figures."""
