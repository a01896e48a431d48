"""Deletion of namespaces: content by resource, then the finalizer (``namespace-controller``)."""
