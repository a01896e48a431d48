"""Validation of checked expressions."""

from __future__ import annotations

import pytest
from tests.unit.cel.expressions import compile_errors

from steersman.cel.library.formatting import RULES

_NO_PRECISION = (
    "could not parse formatting clause: error while parsing precision: error while converting precision to integer: "
    'strconv.Atoi: parsing "": invalid syntax'
)


@pytest.mark.parametrize(
    ("expression", "errors"),
    [
        ("[1, dyn(2)]", ["1:8: expected type 'int' but found 'dyn'"]),
        ("[self.a, 1, 'b']", ["1:10: expected type 'dyn' but found 'int'"]),
        ("[duration('1s'), null]", ["1:18: expected type 'duration' but found 'null'"]),
        ("[[1], ['a']]", ["1:7: expected type 'list(int)' but found 'list(string)'"]),
        ("[?optional.of(1), 'a']", ["1:19: expected type 'int' but found 'string'"]),
        (
            "{'a': 1, 2: 'b', 'c': 3u}",
            [
                "1:10: expected type 'string' but found 'int'",
                "1:13: expected type 'int' but found 'string'",
                "1:23: expected type 'int' but found 'uint'",
            ],
        ),
        ("[1, 'a'] == unknown", ["1:13: undeclared reference to 'unknown' (in container '')"]),
        ("'%d'.format([[1, 'a'].size()])", ["1:18: expected type 'int' but found 'string'"]),
    ],
)
def test_validators_reject_literals_that_mix_types(expression, errors):
    assert compile_errors(expression) == errors


@pytest.mark.parametrize(
    "expression", ["[[], [1]]", "[{}, {'a': 1}]", "'%s %s'.format([1, ['a', {'b': 1, 'c': 'd'}]])"]
)
def test_validators_accept_equal_types_and_arguments_of_format(expression):
    assert compile_errors(expression) == []


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        (
            "'%d'.format(['a'])",
            "1:14: error during formatting: decimal clause can only be used on integers, was given string",
        ),
        (
            "'%f'.format([1])",
            "1:14: error during formatting: fixed-point clause can only be used on doubles, was given int",
        ),
        (
            "'%s'.format([[quantity('1')]])",
            f"1:23: error during formatting: {RULES['s']}, was given kubernetes.Quantity",
        ),
        ("'%d %d'.format([1])", "1:15: index 1 out of range"),
        ("'%d'.format([1, 2])", "1:12: too many arguments supplied to string.format (expected 1, got 2)"),
        ("'a %'.format([])", "1:13: unexpected end of string"),
        ("'%a'.format([1])", '1:12: could not parse formatting clause: unrecognized formatting clause "a"'),
        (
            "'%.'.format([1.0])",
            "1:12: could not parse formatting clause: error while parsing precision: could not find end of precision specifier",
        ),
        (
            "'%.f'.format([1.0])",
            f"1:13: {_NO_PRECISION}",
        ),
    ],
)
def test_validators_reject_constant_formats_that_do_not_fit_their_arguments(expression, error):
    assert compile_errors(expression) == [error]


@pytest.mark.parametrize(
    "expression", ["'%d'.format([dyn('a')])", "'%f'.format(['NaN'])", "s.format([1])", "'%d'.format(self)"]
)
def test_validators_leave_other_formats_to_the_evaluation(expression):
    assert compile_errors(expression) == []
