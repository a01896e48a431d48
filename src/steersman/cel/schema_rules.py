"""Validation rules of custom resources (``x-kubernetes-validations``, KEP-2876), compiled for their schema type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.cel import types as t
from steersman.cel.cost_estimate import estimate_cost
from steersman.cel.environment import Environment, kubernetes
from steersman.cel.openapi import REQUEST_MAX_BYTES
from steersman.cel.program import Program, compile_expression
from steersman.cel.source import CompileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.cel.types import Type


class Rule:
    """A compiled rule, or its compile error."""

    __slots__ = ("error", "max_cost", "message", "message_error", "message_max_cost", "program", "rule", "uses_old")

    def __init__(self, rule: Tree, type_: Type, environment: Environment) -> None:
        self.rule: Final = rule
        self.program: Program | None = None
        #: Compile error; also empty for a rule without text.
        self.error = ""
        self.message: Program | None = None
        self.message_error = ""
        self.uses_old = False
        #: Maximum cost by the size bounds of the schema.
        self.max_cost = 0
        self.message_max_cost = 0
        if not (rule.get("rule") or "").strip():
            return
        self._compile(rule["rule"], environment)
        if rule.get("messageExpression") and not self.error:
            self._compile_message(rule["messageExpression"], environment)

    def _compile(self, expression: str, environment: Environment) -> None:
        try:
            program = compile_expression(expression, environment)
        except CompileError as error:
            self.error = f"compilation failed: {error}"
            return
        if program.type != t.BOOL:
            self.error = "cel expression must evaluate to a bool"
            return
        self.uses_old = "oldSelf" in program.names
        if program.instantiation_error:
            self.error = f"program instantiation failed: {program.instantiation_error}"
            return
        self.program = program
        self.max_cost = estimate_cost(program.tree)

    def _compile_message(self, expression: str, environment: Environment) -> None:
        try:
            program = compile_expression(expression, environment)
        except CompileError as error:
            self.message_error = f"messageExpression compilation failed: {error}"
            return
        if program.type != t.STRING:
            self.message_error = "messageExpression must evaluate to a string"
            return
        if program.instantiation_error:
            self.message_error = f"messageExpression instantiation failed: {program.instantiation_error}"
            return
        self.message = program
        self.message_max_cost = estimate_cost(program.tree)


def compile_rules(rules: Sequence[Tree], type_: Type) -> list[Rule]:
    """Compile the rules of a schema node whose values have ``type_``."""
    plain = kubernetes().extended(variables={"self": type_, "oldSelf": type_})
    optional = None
    if any(rule.get("optionalOldSelf") for rule in rules):
        optional = kubernetes().extended(variables={"self": type_, "oldSelf": t.optional_of(type_)})
    return [Rule(rule, type_, optional if optional and rule.get("optionalOldSelf") else plain) for rule in rules]


def cardinality(type_: Type) -> int:
    """Return the maximum number of values of the type in a request."""
    return REQUEST_MAX_BYTES // (type_.min_json_size + 1)
