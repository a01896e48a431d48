"""Answers of ResourcePoolStatusRequests (``resourcepoolstatusrequest-controller``, KEP-5677)."""
