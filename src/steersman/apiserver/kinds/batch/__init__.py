"""Strategies of the ``batch`` group: one module per kind."""
