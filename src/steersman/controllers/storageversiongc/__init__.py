"""Removal of deleted API servers from StorageVersions (``storageversion-garbage-collector-controller``)."""
