"""Strategies of the core group: one module a kind, ``service_*`` and ``pod_*`` for what those two need besides."""
