"""Strategy and validation of Nodes, and the feed of the node authorizer's graph."""
