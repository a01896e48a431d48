"""Status of ResourcePoolStatusRequests (``resourcepoolstatusrequest-controller``, KEP-5677)."""
