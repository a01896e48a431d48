"""Rules shared by kinds of ``storage.k8s.io``."""
