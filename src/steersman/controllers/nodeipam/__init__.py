"""Pod CIDRs of Nodes (``node-ipam-controller``)."""
