"""Nodes get ranges of addresses for their pods (``node-ipam-controller``)."""
