"""Finalizers that keep claims, volumes and classes of volume attributes as long as they are used.

Three controllers over one set of rules: ``claims``, ``volumes``, ``attributes_classes``.
"""
