"""Sample objects for tests of kinds, and helpers to edit them and to read errors."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from steersman.apimachinery.field import FieldError
from steersman.apimachinery.trees import Tree
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.request import RequestContext, UserInfo

CREATED: Final = "2026-01-01T00:00:00Z"
#: One minute after the creation of objects, so that ages are ``60s``.
NOW: Final = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
CONTEXT: Final = RequestContext(UserInfo("alice"), NOW, version="v1")
#: Value for ``edited`` that removes the field.
GONE: Final = object()


def named(name: str = "a", **more: Any) -> Tree:
    """Return a stored object's metadata-bearing tree with this name."""
    return {"metadata": {"name": name, "namespace": "n", "uid": "u", "creationTimestamp": CREATED}, **more}


def pod_template(**spec: Any) -> Tree:
    """Return a Pod template with the label ``app=a`` and one container."""
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


SELECTOR: Final = {"matchLabels": {"app": "a"}}


def defaulted(strategy: Strategy, tree: Tree, version: str = "v1") -> Tree:
    """Return the tree with its defaults."""
    strategy.default(tree, version)
    return tree


def edited(tree: Tree, edits: Mapping[str, Any]) -> Tree:
    """Return a copy with other values at dotted paths (``spec.ports.0.name``); missing objects on a path are created."""
    tree = copy.deepcopy(tree)
    for path, value in edits.items():
        *steps, last = path.split(".")
        place: Any = tree
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        if value is GONE:
            place.pop(last, None)
        else:
            place[int(last) if isinstance(place, list) else last] = copy.deepcopy(value)
    return tree


def texts(errors: Iterable[FieldError]) -> list[str]:
    """Return the texts of errors as a Status has them."""
    return [str(error) for error in errors]
