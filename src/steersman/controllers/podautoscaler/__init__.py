"""Targets are scaled so that their metrics meet what was asked for (``horizontal-pod-autoscaler-controller``)."""
