"""CEL environment of match conditions of authorization webhooks: ``request`` is the spec of a SubjectAccessReview.

Upstream: staging/src/k8s.io/apiserver/pkg/authorization/cel/compile.go
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from steersman.cel import types as t
from steersman.cel.admission import ExpressionError
from steersman.cel.ast import Select
from steersman.cel.environment import Environment, kubernetes
from steersman.cel.program import Program, compile_expression
from steersman.cel.source import CompileError

if TYPE_CHECKING:
    from steersman.cel.ast import Node

FIELD_SELECTOR: Final = "fieldSelector"
LABEL_SELECTOR: Final = "labelSelector"


@cache
def _environment() -> Environment:
    strings = t.list_of(t.STRING)
    requirement = t.object_type(
        "kubernetes.SelectorRequirement", {"key": t.STRING, "operator": t.STRING, "values": strings}
    )
    selector = {"rawSelector": t.STRING, "requirements": t.list_of(requirement)}
    texts = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
    resource = t.object_type(
        "kubernetes.ResourceAttributes",
        {
            **dict.fromkeys(texts, t.STRING),
            FIELD_SELECTOR: t.object_type("kubernetes.FieldSelectorAttributes", selector),
            LABEL_SELECTOR: t.object_type("kubernetes.LabelSelectorAttributes", selector),
        },
    )
    path = t.object_type("kubernetes.NonResourceAttributes", {"path": t.STRING, "verb": t.STRING})
    request = t.object_type(
        "kubernetes.SubjectAccessReviewSpec",
        {
            "resourceAttributes": resource,
            "nonResourceAttributes": path,
            "user": t.STRING,
            "groups": strings,
            "extra": t.map_of(t.STRING, strings),
            "uid": t.STRING,
        },
    )
    return kubernetes().extended(variables={"request": request})


def compile_condition(expression: str) -> Program:
    """Compile a match condition. Raises ``ExpressionError``."""
    try:
        program = compile_expression(expression, _environment())
    except CompileError as error:
        raise ExpressionError(f"compilation failed: {error}") from None
    if program.type != t.BOOL:
        raise ExpressionError(f"must evaluate to {t.BOOL} but got {program.type}")
    if program.instantiation_error:
        raise ExpressionError(f"program instantiation failed: {program.instantiation_error}", is_internal=True)
    return program


def selects(program: Program, field: str) -> bool:
    """Report whether an expression selects a field of this name of any object, also by ``.?``."""
    return _selects(program.tree, field)


def _selects(node: Node, field: str) -> bool:
    if isinstance(node, Select) and node.name == field:
        return True
    return any(_selects(child, field) for child in node.children())
