"""Properties of the package: every input compiles and evaluates to a value or to a documented error."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.cel.expressions import ENVIRONMENT

from steersman.cel.program import compile_expression
from steersman.cel.source import CelError

ATOMS = st.sampled_from(
    ["1", "2u", "-3", "1.5", "'a'", "b'a'", "true", "null", "self", "self.a", "n", "s", "l", "m", "[]", "{}"]
)


def combined(inner):
    pair = st.tuples(inner, inner)
    binary = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", "&&", "||", "in"])
    calls = st.sampled_from(["size({0})", "int({0})", "string({0})", "!({0})", "dyn({0})", "has(self.x)", "type({0})"])
    macros = st.sampled_from(
        [
            "{0}.all(x, {1})",
            "{0}.exists(x, x == {1})",
            "{0}.map(x, {1})",
            "{0}.filter(x, {1})",
            "{0}.exists_one(x, {1})",
        ]
    )
    return st.one_of(
        st.builds(lambda p, o: f"({p[0]} {o} {p[1]})", pair, binary),
        st.builds(lambda a, c: c.format(a), inner, calls),
        st.builds(lambda p, m: m.format(f"dyn({p[0]})", p[1]), pair, macros),
        st.builds(lambda p: f"({p[0]} ? {p[1]} : dyn({p[0]}))", pair),
        st.builds(lambda p: f"[dyn({p[0]}), dyn({p[1]})]", pair),
        st.builds(lambda p: f"dyn({p[0]})[dyn({p[1]})]", pair),
    )


EXPRESSIONS = st.recursive(ATOMS, combined, max_leaves=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abx"), inner, max_size=3),
    max_leaves=6,
)


def outcome(expression, variables, *, cost_limit):
    """Return the compile error, the evaluation error or ``value``."""
    try:
        program = compile_expression(expression, ENVIRONMENT)
    except CelError as error:
        return str(error)
    result = program.evaluate(variables, cost_limit=cost_limit)
    return "value" if result.error is None else f"error: {result.error}"


@given(EXPRESSIONS, VALUES)
def test_evaluation_returns_a_value_or_an_error(expression, value):
    variables = {"self": value, "n": 1, "s": "x", "l": [1, 2], "m": {"a": 1}}
    assert outcome(expression, variables, cost_limit=10_000).startswith(("ERROR: <input>:", "value", "error: "))


@given(st.text(alphabet="abx1.()[]{},:?+-*!=&|<>'\" \\u\n", max_size=20))
@settings(max_examples=300)
def test_compile_expression_accepts_or_rejects_any_text(text):
    assert outcome(text, {}, cost_limit=1000).startswith(("ERROR: <input>:", "value", "error: "))


@given(st.integers(0, 200))
def test_evaluation_stops_at_the_cost_limit(limit):
    program = compile_expression("l.map(x, l.map(y, x * y)).all(r, r.all(z, z >= 0))", ENVIRONMENT)
    result = program.evaluate({"l": list(range(50))}, cost_limit=limit)
    assert str(result.error) == "operation cancelled: actual cost limit exceeded"
    assert result.cost < limit + 100


@pytest.mark.parametrize("text", ["(" * 5000 + "1" + ")" * 5000, "+".join(["1"] * 5000), "[" * 90 + "1" + "]" * 90])
def test_deep_expressions_are_rejected(text):
    with pytest.raises(CelError, match="recursion limit"):
        compile_expression(text, ENVIRONMENT)


def test_long_logical_chains_are_evaluated():
    assert compile_expression(" && ".join(["true"] * 5000), ENVIRONMENT).evaluate({}).value is True


def test_server_import_does_not_load_cel():
    code = (
        "import sys, steersman.controlplane.resources; print([m for m in sys.modules if m.startswith('steersman.cel')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
