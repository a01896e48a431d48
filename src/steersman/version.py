"""The project's own version, and the Kubernetes release whose behaviour it serves."""

__version__ = "0.1.0"

#: Release that the schema tables and the recorded behaviour speak of.
KUBERNETES_VERSION = "v1.36.2"
