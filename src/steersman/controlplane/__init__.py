"""Composition roots: what is put together to make a running API server, and the things around it (data, PKI, processes).

``apiserver`` builds one API server from ``options``; ``up`` runs a whole control plane in one command.
"""
