"""Entries of API servers that are gone leave StorageVersions (``storageversion-garbage-collector-controller``)."""
