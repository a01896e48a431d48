"""OpenAPI v3 document of ``metrics.k8s.io/v1beta1``, which ``kubectl explain`` reads."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import encode
from steersman.nodes.metrics.api import GROUP, VERSION

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

PATH: Final = f"apis/{GROUP}/{VERSION}"
_PACKAGE: Final = "io.k8s.metrics.pkg.apis.metrics.v1beta1"
_METADATA: Final = {"type": "object", "description": "Standard object's metadata."}
_TIME: Final = {"type": "string", "format": "date-time"}
_USAGE: Final = {
    "type": "object",
    "description": "Usage by resource.",
    "additionalProperties": {"type": "string", "description": "A quantity."},
}


def _reference(kind: str) -> Tree:
    return {"$ref": f"#/components/schemas/{_PACKAGE}.{kind}"}


def _kind(kind: str) -> Tree:
    return {"group": GROUP, "version": VERSION, "kind": kind}


def _object(kind: str, description: str, **fields: Tree) -> dict[str, Tree]:
    properties = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": _METADATA,
        "timestamp": {**_TIME, "description": "End of the interval over which usage was measured."},
        "window": {"type": "string", "description": "Length of that interval."},
        **fields,
    }
    schema: Tree = {"type": "object", "description": description, "properties": properties}
    listed = {"type": "object", "properties": {"items": {"type": "array", "items": _reference(kind)}}}
    return {
        f"{_PACKAGE}.{kind}": {**schema, "x-kubernetes-group-version-kind": [_kind(kind)]},
        f"{_PACKAGE}.{kind}List": {**listed, "x-kubernetes-group-version-kind": [_kind(f"{kind}List")]},
    }


def _get(kind: str, action: str, schema: str) -> Tree:
    content = {"application/json": {"schema": _reference(schema)}}
    return {
        "get": {
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _kind(kind),
            "responses": {"200": {"description": "OK", "content": content}},
        }
    }


def document() -> Tree:
    """Return the document."""
    containers: Tree = {"type": "array", "items": _reference("ContainerMetrics"), "description": "Usage by container."}
    schemas: dict[str, Any] = {
        f"{_PACKAGE}.ContainerMetrics": {
            "type": "object",
            "description": "Resource usage of a container.",
            "properties": {"name": {"type": "string"}, "usage": _USAGE},
        },
        **_object("NodeMetrics", "Resource usage of a node.", usage=_USAGE),
        **_object("PodMetrics", "Resource usage of a pod.", containers=containers),
    }
    paths = {
        f"/{PATH}/nodes": _get("NodeMetrics", "list", "NodeMetricsList"),
        f"/{PATH}/nodes/{{name}}": _get("NodeMetrics", "get", "NodeMetrics"),
        f"/{PATH}/pods": _get("PodMetrics", "list", "PodMetricsList"),
        f"/{PATH}/namespaces/{{namespace}}/pods": _get("PodMetrics", "list", "PodMetricsList"),
        f"/{PATH}/namespaces/{{namespace}}/pods/{{name}}": _get("PodMetrics", "get", "PodMetrics"),
    }
    info = {"title": "Metrics of simulated nodes", "version": VERSION}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def index() -> Tree:
    """Return the response of ``/openapi/v3``."""
    digest = hashlib.sha512(encode(document())).hexdigest().upper()
    return {"paths": {PATH: {"serverRelativeURL": f"/openapi/v3/{PATH}?hash={digest}"}}}
