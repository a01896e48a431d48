"""Rules shared by kinds of ``admissionregistration.k8s.io``."""
