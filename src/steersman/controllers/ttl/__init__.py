"""Annotation of Nodes with the cache TTL of secrets and config maps, by cluster size (``ttl-controller``)."""
