"""Strategies of the kinds of ``autoscaling``: one module a kind."""
