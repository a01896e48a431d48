"""Compiled expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.workmeter import spend
from steersman.cel.checker import check
from steersman.cel.evaluator import Evaluated, Evaluator
from steersman.cel.instantiation import instantiation_error
from steersman.cel.parser import parse
from steersman.cel.source import CompileError, Issue
from steersman.cel.validators import validate_expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.cel.ast import Node
    from steersman.cel.environment import Environment
    from steersman.cel.types import Type

#: Work meter charge of a compilation.
_UNITS_PER_COMPILED_CHARACTER: Final = 20
#: Cost limit of one evaluation (``celconfig.PerCallLimit``).
PER_CALL_LIMIT: Final = 1_000_000


class Program:
    """A checked expression; immutable and shared by evaluations."""

    __slots__ = ("_evaluator", "expression", "instantiation_error", "names", "tree", "type")

    def __init__(self, expression: str, tree: Node, type_: Type, environment: Environment) -> None:
        self.expression: Final = expression
        self.tree: Final = tree
        self.type: Final = type_
        self._evaluator: Final = Evaluator(tree, environment)
        #: Error of the instantiation of a program upstream, although the expression compiles; empty without one.
        self.instantiation_error: Final = instantiation_error(tree, environment)
        #: Variables used by the expression.
        self.names: Final = self._evaluator.names

    def evaluate(self, variables: Mapping[str, Any], *, cost_limit: int = PER_CALL_LIMIT) -> Evaluated:
        """Evaluate the expression; errors are returned in the result."""
        return self._evaluator.evaluate(variables, cost_limit=cost_limit)


def compile_expression(expression: str, environment: Environment) -> Program:
    """Parse and check an expression. Raises CompileError with cel-go's message."""
    spend(_UNITS_PER_COMPILED_CHARACTER * len(expression))
    tree, source = parse(expression)
    try:
        type_ = check(tree, source, environment)
        validate_expression(tree, source)
        return Program(expression, tree, type_, environment)
    except RecursionError:
        raise CompileError(source, [Issue(-1, "expression is nested too deeply")]) from None
