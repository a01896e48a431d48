"""Objects and helpers shared by the tests of kinds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apimachinery.trees import Tree
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod, default_pod_spec
from steersman.apiserver.request import RequestContext, UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.generic.strategy import Strategy


NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
STAMP = "2026-01-01T00:01:00Z"
#: Creation timestamp of objects, one minute before ``NOW``.
METADATA = {"name": "a", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}
#: Spec of a volume without its source, and two sources.
VOLUME_SPEC = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "persistentVolumeReclaimPolicy": "Retain",
    "volumeMode": "Filesystem",
}
HOST_PATH = {"hostPath": {"path": "/a", "type": ""}}
CSI = {"csi": {"driver": "d", "volumeHandle": "h"}}


def context(**more: Any) -> RequestContext:
    """Return the context of a request at ``NOW``."""
    return RequestContext(UserInfo("tester"), NOW, **more)


def error_texts(errors: Iterable[Any]) -> list[str]:
    """Return the errors as texts: path, summary, value and detail."""
    return [str(error) for error in errors]


def copy(tree: Any) -> Any:
    """Return a deep copy."""
    return msgspec.json.decode(msgspec.json.encode(tree))


def tree(metadata: Tree | None = None, **parts: Any) -> Tree:
    """Return an object ``a`` in namespace ``n``."""
    return {"metadata": {**METADATA, **(metadata or {})}, **parts}


def pod_spec(**spec: Any) -> Tree:
    """Return a valid, defaulted Pod spec with the given fields."""
    whole = {"containers": [{"name": "c", "image": "i"}], **spec}
    default_pod_spec(whole)
    return whole


def container(**parts: Any) -> Tree:
    """Return a valid, defaulted container with the given fields."""
    return pod_spec(containers=[{"name": "c", "image": "i", **parts}])["containers"][0]


def template(**spec: Any) -> Tree:
    """Return a valid Pod template with the label ``x=y``."""
    return {"metadata": {"labels": {"x": "y"}}, "spec": pod_spec(**spec)}


def pod(metadata: Tree | None = None, **spec: Any) -> Tree:
    """Return a valid, defaulted Pod."""
    whole = tree(metadata, spec={"containers": [{"name": "c", "image": "i"}], **spec})
    default_pod(whole)
    return whole


def defaulted(strategy: Strategy, obj: Tree, version: str = "v1") -> Tree:
    """Return a defaulted copy of an object."""
    whole = copy(obj)
    strategy.default(whole, version)
    return whole


def is_idempotent(strategy: Strategy, obj: Tree, version: str = "v1") -> bool:
    """Report whether defaulting a defaulted object changes nothing."""
    once = defaulted(strategy, obj, version)
    return defaulted(strategy, once, version) == once
