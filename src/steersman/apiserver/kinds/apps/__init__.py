"""Strategies of the kinds of ``apps``: one module a kind."""
