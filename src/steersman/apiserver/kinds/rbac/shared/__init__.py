"""Rules shared by kinds of ``rbac.authorization.k8s.io``."""
