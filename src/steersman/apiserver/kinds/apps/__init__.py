"""Strategies of the ``apps`` group: one module per kind."""
