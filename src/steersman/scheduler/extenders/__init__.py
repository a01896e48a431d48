"""Scheduler extenders: HTTP servers that filter and score nodes, review preemptions and bind pods.

``wire`` encodes and decodes the messages of ``extender/v1``, ``http_extender`` sends them to one extender, and
``chain`` calls all extenders of a scheduler in order. Loaded only if the configuration has ``extenders``.
"""
