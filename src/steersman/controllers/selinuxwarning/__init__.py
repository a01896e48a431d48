"""Warns of pods that share a volume and would have it labelled differently (``selinux-warning-controller``).

KEP-1710. It changes nothing: events to the pods, and a metric. Volumes are those of CSI drivers.
"""
