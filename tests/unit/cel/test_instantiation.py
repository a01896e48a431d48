"""Errors of program instantiation."""

from __future__ import annotations

import pytest
from tests.unit.cel.expressions import ENVIRONMENT

from steersman.cel.program import compile_expression


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("s.find('[') == ''", "error parsing regexp: missing closing ]: `[`"),
        ("s.findAll(')', 1) == []", "error parsing regexp: unexpected ): `)`"),
        ("int('x') == n", "type conversion error from 'string' to 'int'"),
        ("uint(dyn(-1)) in [uint(n)]", "unsigned integer overflow"),
        ("true || string(b'\\xff') == s", "invalid UTF-8 in bytes, cannot convert to string"),
        ("l.all(x, timestamp(999999999999) == timestamp(x))", "timestamp overflow"),
        ("int(s) == 1 && s.find(s) == ''", ""),
        ("1 / 0 == n", ""),
    ],
)
def test_program_reports_errors_of_constant_conversions_and_patterns(expression, error):
    assert compile_expression(expression, ENVIRONMENT).instantiation_error == error
