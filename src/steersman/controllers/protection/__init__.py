"""Finalizers that keep claims, volumes, classes of volume attributes and groups of pods as long as they are used.

Four controllers over one set of rules: ``claims``, ``volumes``, ``attributes_classes``, ``pod_groups``.
"""
