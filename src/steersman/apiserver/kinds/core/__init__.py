"""Strategies of the core group: one module or package per kind."""
