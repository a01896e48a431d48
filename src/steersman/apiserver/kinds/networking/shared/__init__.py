"""Rules shared by kinds of ``networking.k8s.io``."""
