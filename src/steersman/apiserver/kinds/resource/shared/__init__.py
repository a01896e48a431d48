"""Rules shared by kinds of ``resource.k8s.io``."""
