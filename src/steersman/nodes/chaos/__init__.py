"""Chaos rules (``--chaos FILE``): failures of simulated pods and nodes, drawn deterministically from a seed."""
