"""Invalidation and deletion of unused legacy token Secrets (``legacy-serviceaccount-token-cleaner-controller``)."""
