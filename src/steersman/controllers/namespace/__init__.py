"""A namespace that is deleted is emptied, resource by resource, and then let go (``namespace-controller``)."""
