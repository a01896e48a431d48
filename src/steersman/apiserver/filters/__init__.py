"""Filters of the handler chain, one module each, with upstream's names. ``server/chain.py`` orders them."""
