from __future__ import annotations

import pytest

from steersman.apiserver.admission.policy_variables import PolicyVariables
from steersman.apiserver.admission.validating_policy_input import CostBudget
from steersman.cel.admission import VARIABLE, Compiler
from steersman.cel.values import EvalError


def test_variables_are_evaluated_once_within_the_budget():
    compiler, spending = Compiler(params=False, composed=True), CostBudget(1000)
    programs = {
        name: compiler.add_variable(name, text, VARIABLE)
        for name, text in (("a", "[1, 2].map(x, x)"), ("b", "variables.a + [3]"), ("c", "object.x"))
    }
    variables = PolicyVariables({**programs, "d": "no"}, {"object": {}}, spending)
    assert variables["b"] == [1, 2, 3]
    remaining = spending.remaining
    assert (variables["b"], spending.remaining < 1000) == ([1, 2, 3], True)
    assert spending.remaining == remaining
    assert "c" in variables
    with pytest.raises(EvalError, match='composited variable "c" fails to evaluate: no such key: x'):
        variables["c"]
    with pytest.raises(EvalError, match='composited variable "d" fails to compile: no'):
        variables["d"]
