"""Proxying of requests to kubelets, Pods and Services: connections, forwarding of responses and upgrades."""
