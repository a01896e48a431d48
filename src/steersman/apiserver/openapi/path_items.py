"""Path items: the operations on one path, in the form of either OpenAPI version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apiserver.openapi import parameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.openapi.operations import Operation


_REASONS = {200: "OK", 201: "Created", 202: "Accepted", 401: "Unauthorized"}
_PATH_PARAMETER = re.compile(r"\{(\w+)\}")


def encode_path_items(operations: Iterable[Operation], *, v3: bool) -> dict[str, bytes]:
    """Return the encoded path item of each path."""
    by_path: dict[str, list[Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, []).append(operation)
    render = _openapi3_operation if v3 else _swagger_operation
    return {path: msgspec.json.encode(_path_item(path, calls, render, v3=v3)) for path, calls in by_path.items()}


def _path_item(path: str, operations: list[Operation], render: Any, *, v3: bool) -> Tree:
    """Return one path item; parameters that all of its operations share are listed once."""
    shared = [name for name in operations[0].query if all(name in o.query for o in operations)]
    in_path = _PATH_PARAMETER.findall(path)
    item: Tree = {o.method.lower(): render(o, [n for n in o.query if n not in shared]) for o in operations}
    common = [parameters.path(name, v3=v3) for name in in_path]
    common += [parameters.query(name, v3=v3) for name in shared if name not in in_path]
    if operations[0].action not in ("", "connect"):
        common.append(parameters.query("pretty", v3=v3))
    if common:
        item["parameters"] = common
    return item


def _common(operation: Operation, query: list[str], *, v3: bool) -> Tree:
    tree: Tree = {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.operation_id,
    }
    if query:
        tree["parameters"] = [parameters.query(name, v3=v3) for name in query]
    if operation.action:
        tree["x-kubernetes-action"] = operation.action
    if operation.gvk is not None:
        group, version, kind = operation.gvk
        tree["x-kubernetes-group-version-kind"] = {"group": group, "kind": kind, "version": version}
    return tree


def _schema(name: str, prefix: str) -> Tree:
    return {"type": "string"} if name == "string" else {"$ref": prefix + name}


def _swagger_operation(operation: Operation, query: list[str]) -> Tree:
    tree = _common(operation, query, v3=False)
    if operation.consumes:
        tree["consumes"] = list(operation.consumes)
    tree["produces"] = list(operation.produces)
    tree["schemes"] = ["https"]
    if operation.body:
        body: Tree = {"name": "body", "in": "body", "schema": _schema(operation.body, "#/definitions/")}
        if operation.method in ("POST", "PUT", "PATCH"):
            body["required"] = True
        tree["parameters"] = [body, *tree.get("parameters", ())]
    tree["responses"] = {str(code): {"description": _REASONS[code]} for code in operation.codes}
    for code in operation.codes:
        if code < 300 and operation.answer:
            tree["responses"][str(code)]["schema"] = _schema(operation.answer, "#/definitions/")
    return tree


def _openapi3_operation(operation: Operation, query: list[str]) -> Tree:
    tree = _common(operation, query, v3=True)
    if operation.body:
        schema = _schema(operation.body, "#/components/schemas/")
        tree["requestBody"] = {"content": {t: {"schema": schema} for t in operation.consumes}}
        if operation.method in ("POST", "PUT", "PATCH"):
            tree["requestBody"]["required"] = True
    tree["responses"] = {str(code): {"description": _REASONS[code]} for code in operation.codes}
    for code in operation.codes:
        if code < 300 and operation.answer:
            schema = _schema(operation.answer, "#/components/schemas/")
            tree["responses"][str(code)]["content"] = {t: {"schema": schema} for t in operation.produces}
    return tree
