"""Strategies of the kinds of ``policy``."""
