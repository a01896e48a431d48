"""Nodes are told how long to keep secrets and config maps, by the size of the cluster (``ttl-controller``)."""
