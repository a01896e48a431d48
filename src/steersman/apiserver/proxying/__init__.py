"""Requests passed on to kubelets, pods and services: connections, forwarding of answers and upgrades."""
