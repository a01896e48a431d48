"""CEL environments of JWT authenticators: ``claims`` of a token, and the ``user`` that they are mapped to.

Upstream: staging/src/k8s.io/apiserver/pkg/authentication/cel/{compile.go,interface.go}
"""

from __future__ import annotations

from functools import cache
from typing import Final

from steersman.cel import types as t
from steersman.cel.admission import ExpressionError
from steersman.cel.ast import Ident, Node, Select
from steersman.cel.environment import Environment, kubernetes
from steersman.cel.program import Program, compile_expression
from steersman.cel.source import CompileError

CLAIMS: Final = "claims"
USER: Final = "user"


@cache
def _environment(variable: str) -> Environment:
    if variable == CLAIMS:
        type_ = t.map_of(t.STRING, t.ANY)
    else:
        strings = t.list_of(t.STRING)
        fields = {"username": t.STRING, "uid": t.STRING, "groups": strings, "extra": t.map_of(t.STRING, strings)}
        type_ = t.object_type("kubernetes.UserInfo", fields)
    return kubernetes().extended(variables={variable: type_})


def compile_mapping(expression: str) -> Program:
    """Compile a mapping of claims, whose value may have any type. Raises ``ExpressionError``."""
    return _compile(expression, CLAIMS)


def compile_condition(expression: str, variable: str) -> Program:
    """Compile a validation rule of ``claims`` or ``user``. Raises ``ExpressionError``."""
    program = _compile(expression, variable)
    if program.type != t.BOOL:
        raise ExpressionError(f"must evaluate to {t.BOOL}")
    return program


def _compile(expression: str, variable: str) -> Program:
    try:
        program = compile_expression(expression, _environment(variable))
    except CompileError as error:
        raise ExpressionError(f"compilation failed: {error}") from None
    if program.instantiation_error:
        raise ExpressionError(f"program instantiation failed: {program.instantiation_error}", is_internal=True)
    return program


def selects_claim(program: Program, claim: str) -> bool:
    """Report whether an expression selects a claim by its name. Upstream: ``hasSelectExp``."""
    return _selects(program.tree, claim)


def _selects(node: Node, claim: str) -> bool:
    if isinstance(node, Select) and node.name == claim:
        operand = node.operand
        if isinstance(operand, Ident) and operand.name == CLAIMS:
            return True
    return any(_selects(child, claim) for child in node.children())
