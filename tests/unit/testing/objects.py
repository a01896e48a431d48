"""Objects of the tests of embedded clusters, in the namespace ``default``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


def config_map(name: str, **data: str) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(name), "data": data}


def pod(name: str) -> Tree:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(name), "spec": spec}


def deployment(name: str, replicas: int = 2) -> Tree:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _metadata(name), "spec": spec}


def _metadata(name: str) -> Tree:
    return {"name": name, "namespace": "default"}
