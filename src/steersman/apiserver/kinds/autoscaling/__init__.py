"""Strategies of the ``autoscaling`` group: one module per kind."""
