"""Strategies of the kinds of ``batch``: one module a kind."""
