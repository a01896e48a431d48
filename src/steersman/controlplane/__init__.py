"""Composition roots of running API servers and control planes: files, PKI, processes.

``apiserver`` builds one API server from ``options``; ``up`` runs a whole control plane in one command.
"""
