"""Eviction of pods from Nodes with untolerated ``NoExecute`` taints (``taint-eviction-controller``)."""
