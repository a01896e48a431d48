"""IngressClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.strategy import Column, Strategy, Tree

if TYPE_CHECKING:
    from datetime import datetime


class IngressClassStrategy(Strategy):
    """Parameters are cluster-wide unless they say otherwise."""

    group_resource = "ingressclasses.networking.k8s.io"
    has_generation = True
    columns = (columns.NAME_COLUMN, Column("Controller"), Column("Parameters"), columns.AGE_COLUMN)

    def default(self, obj: Tree, version: str) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = "Cluster"

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        return [
            columns.name_of(obj),
            spec.get("controller", ""),
            _parameters(spec.get("parameters")),
            columns.age(obj, now),
        ]


def _parameters(parameters: Tree | None) -> str:
    if parameters is None:
        return columns.NONE
    kind = parameters.get("kind", "")
    group = parameters.get("apiGroup")
    return f"{kind}.{group}/{parameters.get('name', '')}" if group else f"{kind}/{parameters.get('name', '')}"
