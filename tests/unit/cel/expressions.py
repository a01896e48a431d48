"""Test environment with a few variables, and helpers to compile and evaluate expressions."""

from __future__ import annotations

from steersman.cel import types as t
from steersman.cel.environment import kubernetes
from steersman.cel.program import compile_expression
from steersman.cel.source import CelError

ENVIRONMENT = kubernetes().extended(
    variables={
        "self": t.DYN,
        "n": t.INT,
        "s": t.STRING,
        "l": t.list_of(t.INT),
        "m": t.map_of(t.STRING, t.INT),
        "o": t.object_type(
            "thing", {"a": t.INT, "b": t.object_type("part", {"c": t.STRING}), "__if__": t.INT}, {"__if__": "if"}
        ),
    }
)


def evaluated(expression, **variables):
    """Return the value of an expression; raises its evaluation error."""
    result = compile_expression(expression, ENVIRONMENT).evaluate(variables)
    if result.error is not None:
        raise result.error
    return result.value


def compile_errors(expression):
    """Return the compile errors of an expression, without the source excerpts."""
    try:
        compile_expression(expression, ENVIRONMENT)
    except CelError as error:
        return [line.removeprefix("ERROR: <input>:") for line in str(error).split("\n") if line.startswith("ERROR")]
    return []


def type_of(expression):
    return str(compile_expression(expression, ENVIRONMENT).type)
