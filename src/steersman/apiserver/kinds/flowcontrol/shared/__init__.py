"""Rules shared by kinds of ``flowcontrol.apiserver.k8s.io``."""
