"""Pods that ask for a volume of their own get a claim for it (``ephemeral-volume-controller``, KEP-1698)."""
