"""Pods leave Nodes whose ``NoExecute`` taints they do not tolerate (``taint-eviction-controller``)."""
