"""Expressions of JWT authenticators."""

import pytest

from steersman.cel.admission import ExpressionError
from steersman.cel.authentication import compile_condition, compile_mapping, selects_claim


def test_mappings_may_have_any_type():
    assert compile_mapping("claims.sub").evaluate({"claims": {"sub": "a"}}).value == "a"
    assert compile_mapping("[1]").evaluate({"claims": {}}).value == [1]


@pytest.mark.parametrize(
    ("expression", "variable", "message"),
    [
        ("claims.sub", "claims", "must evaluate to bool"),
        ("user.uid", "user", "must evaluate to bool"),
        ("claims.sub == 'a'", "user", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'claims'"),
        ("user.nick == 'a'", "user", "compilation failed: ERROR: <input>:1:5: undefined field 'nick'"),
        ("user.groups == 'a'", "user", "compilation failed: "),
    ],
)
def test_conditions_are_boolean_expressions_of_their_variable(expression, variable, message):
    with pytest.raises(ExpressionError) as refused:
        compile_condition(expression, variable)
    assert str(refused.value).startswith(message)


def test_invalid_constants_are_errors():
    with pytest.raises(ExpressionError):
        compile_mapping("claims.sub.matches('[')")


@pytest.mark.parametrize(
    ("expression", "is_selected"),
    [
        ("claims.email", True),
        ("has(claims.email)", True),
        ("claims.?email", True),
        ("[{'a': claims.email}]", True),
        ("[1].exists(x, claims.email == 'a')", True),
        ("claims['email']", False),
        ("claims.mail.email", False),
        ("claims.email_verified", False),
    ],
)
def test_selects_claim(expression, is_selected):
    assert selects_claim(compile_mapping(expression), "email") == is_selected
