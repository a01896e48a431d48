"""Strategies of the ``policy`` group: one module per kind."""
