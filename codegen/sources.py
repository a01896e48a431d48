"""Contents of the pinned packages: type definitions, resources and verbs."""

from __future__ import annotations

import importlib
import json
import pkgutil
from importlib import resources as package_files
from pathlib import Path
from typing import Any, NamedTuple

import yaml

OVERLAY = Path(__file__).parent / "overlay"
RELEASE = "v1.36.0-local"

#: Verbs of lightkube's method names; its `global_*` methods are the same for all namespaces.
VERBS = {
    "delete": "delete",
    "deletecollection": "deletecollection",
    "get": "get",
    "list": "list",
    "patch": "patch",
    "post": "create",
    "put": "update",
    "watch": "watch",
}


class ApiMethod(NamedTuple):
    """Class of `lightkube.resources`: a resource, or a subresource if `action` is set."""

    group: str
    version: str
    kind: str
    plural: str
    verbs: tuple[str, ...]
    namespaced: bool
    action: str
    parent: tuple[str, str]
    """Group and version under which the path lies."""


def definitions() -> dict[str, dict[str, Any]]:
    """Return every type of the release by definition name."""
    root = package_files.files("kubernetes_validate") / "kubernetes-json-schema" / RELEASE / "_definitions.json"
    table: dict[str, dict[str, Any]] = json.loads(root.read_text())["$defs"]
    return table


def overlay(name: str) -> Any:
    """Return a hand-written table."""
    return yaml.safe_load((OVERLAY / f"{name}.yaml").read_text())


def api_methods() -> list[ApiMethod]:
    """Return the resources and subresources of the typed models."""
    package = importlib.import_module("lightkube.resources")
    methods: dict[tuple[str, ...], ApiMethod] = {}
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"lightkube.resources.{module_info.name}")
        for class_ in vars(module).values():
            info = getattr(class_, "_api_info", None)
            if info is not None and class_.__module__ == module.__name__:
                method = _api_method(class_, info)
                methods[(*method.parent, method.plural, method.action)] = method
    return list(methods.values())


def _api_method(class_: type, info: Any) -> ApiMethod:
    parent = info.parent or info.resource
    return ApiMethod(
        group=info.resource.group,
        version=info.resource.version,
        kind=info.resource.kind,
        plural=info.plural,
        verbs=tuple(sorted({VERBS[verb] for verb in info.verbs if verb in VERBS})),
        namespaced=any("Namespaced" in base.__name__ for base in class_.__mro__),
        action=info.action or "",
        parent=(parent.group, parent.version),
    )
