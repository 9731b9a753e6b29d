"""Layers by sampling, as in the paper: see `monte_carlo_torch`."""
