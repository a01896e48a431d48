"""Assets for controller-runtime's envtest: replacements of the programs kube-apiserver, etcd and kubectl.

The ``etcd`` of these assets answers health checks, and starts a fork server that imports the API server while envtest
generates its certificates. Their ``kube-apiserver`` asks that fork server for a process with its flags and its output, and
lives as long as that process.

Upstream: ``sigs.k8s.io/controller-runtime/pkg/internal/testing``: ``controlplane`` (flags), ``process`` (start, health
checks, stop) and ``certs``.
"""
