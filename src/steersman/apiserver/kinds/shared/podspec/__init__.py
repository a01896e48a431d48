"""Defaulting, validation and warnings of Pod specs and Pod templates, shared by Pods and workloads.

``defaults``, ``volumes``: defaulting. ``resources``: requests, limits and the QoS class. ``images``: image names.
``validate*``: validation, one module per concern. Functions are pure over trees; defaulting changes its argument in
place.
"""
