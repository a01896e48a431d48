"""Objects and questions that the tests of the kinds' rules share."""

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
#: What an object made a minute before ``NOW`` bears.
METADATA = {"name": "a", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}


def context(**more: Any) -> RequestContext:
    """A request at ``NOW``."""
    return RequestContext(UserInfo("tester"), NOW, **more)


def told(errors: Iterable[Any]) -> list[str]:
    """What clients are told: path, headline, value and detail."""
    return [str(error) for error in errors]


def copy(tree: Any) -> Any:
    """The same tree, made anew."""
    return msgspec.json.decode(msgspec.json.encode(tree))


def tree(metadata: Tree | None = None, **parts: Any) -> Tree:
    """An object named ``a`` in namespace ``n``."""
    return {"metadata": {**METADATA, **(metadata or {})}, **parts}


def pod_spec(**spec: Any) -> Tree:
    """A valid pod spec with all defaults, but for what ``spec`` says."""
    whole = {"containers": [{"name": "c", "image": "i"}], **spec}
    default_pod_spec(whole)
    return whole


def container(**parts: Any) -> Tree:
    """A valid container with all defaults, but for what ``parts`` say."""
    return pod_spec(containers=[{"name": "c", "image": "i", **parts}])["containers"][0]


def template(**spec: Any) -> Tree:
    """A valid pod template, labelled ``x=y``."""
    return {"metadata": {"labels": {"x": "y"}}, "spec": pod_spec(**spec)}


def pod(metadata: Tree | None = None, **spec: Any) -> Tree:
    """A valid Pod with all defaults."""
    whole = tree(metadata, spec={"containers": [{"name": "c", "image": "i"}], **spec})
    default_pod(whole)
    return whole


def defaulted(strategy: Strategy, obj: Tree, version: str = "v1") -> Tree:
    """A copy of an object with its kind's defaults."""
    whole = copy(obj)
    strategy.default(whole, version)
    return whole


def is_idempotent(strategy: Strategy, obj: Tree, version: str = "v1") -> bool:
    """Whether defaulting what has its defaults changes nothing."""
    once = defaulted(strategy, obj, version)
    return defaulted(strategy, once, version) == once
