"""Fields that expressions read."""

from __future__ import annotations

import pytest
from tests.unit.cel.expressions import ENVIRONMENT

from steersman.cel.field_use import FieldUse, field_use
from steersman.cel.program import compile_expression


def paths(use: FieldUse, prefix: str = "o") -> set[str]:
    """Return the paths of values that are used as a whole."""
    below = {path for name, field in use.fields.items() for path in paths(field, f"{prefix}.{name}")}
    return below | ({prefix} if use.is_whole else set())


@pytest.mark.parametrize(
    ("expression", "used"),
    [
        ("o.a == 1", {"o.a"}),
        ("o.b.c == s && .o.__if__ > n", {"o.b.c", "o.if"}),
        ("has(o.b.c) && has(o.a)", set()),
        ("has(o.b) ? o.a > 0 : true", {"o.a"}),
        ("o.?b.c.orValue('') == ''", {"o.b.c"}),
        ("[o.a, 1].exists(x, x == o.b.c.size())", {"o.a", "o.b.c"}),
        ("[o].exists(x, x.a == 1)", {"o"}),
        ("o == o || o.a == 1", {"o", "o.a"}),
        ("s == 'o.a'", set()),
    ],
)
def test_field_use_has_the_values_that_an_expression_reads(expression, used):
    assert paths(field_use([compile_expression(expression, ENVIRONMENT).tree], ("o",))) == used


def test_field_use_joins_expressions_and_variables():
    trees = [compile_expression(text, ENVIRONMENT).tree for text in ("o.a == 1", "self.b == 1 && o.b.c == ''")]
    assert paths(field_use(trees, ("o", "self"))) == {"o.a", "o.b", "o.b.c"}
