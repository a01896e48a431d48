from __future__ import annotations

import pytest
from tests.unit.cel.expressions import evaluated

from steersman.cel.subtypes import UInt
from steersman.cel.values import EvalError


@pytest.mark.parametrize(
    "expression",
    [
        "1 + 2 * 3 - 4 / 2 == 5",
        "-7 / 2 == -3 && -7 % 2 == -1",
        "7u / 2u == 3u && 7u % 2u == 1u",
        "0x1F == 31 && 0x1Fu == 31u && -0x1 == -1",
        "1.5 + 2.5 == 4.0 && 1e3 == 1000.0 && .5 == 0.5",
        "'a' + \"b\" == '''ab'''",
        r"'\u00e9\x41\101\n' == 'éAA' + '\n'",
        r"r'\n' == '\\n' && b'\xff' == b'\377' && b'é' == b'\303\251'",
        "[1] + [2] == [1, 2] && {'a': 1}['a'] == 1",
        "1 == dyn(1.0) && dyn(1) == dyn(1u) && !(dyn(1) == dyn('1'))",
        "1 < 2u && 1.5 > 1 && 'a' < 'b' && b'a' < b'b' && false < true",
        "2 in [1, 2] && 'a' in {'a': 1} && !(3 in [1])",
        "true || 1 / 0 == 1",
        "1 / 0 == 1 || true",
        "!(1 / 0 == 1 && false)",
        "[1, 0].exists(x, 1 / x == 1) && ![0, 2].all(x, 1 / x == 1)",
        "[1, 2, 3].exists_one(x, x > 2) && [1, 2].existsOne(i, x, i == x - 1) == false",
        "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
        "{'a': 1}.map(k, k) == ['a'] && {'a': 1}.all(k, v, k == 'a' && v == 1)",
        "[3, 4].transformList(i, x, i < 1, i + x) == [3]",
        "{'a': 1}.transformMapEntry(k, v, {string(v): k}) == {'1': 'a'}",
        "has(self.a) && !has(self.b) && has(self.a.x)",
        "self.?a.?x.orValue(5) == 1 && self.?b.x.orValue(5) == 5",
        "self.?a.x.optMap(v, v + 1).value() == 2 && !optional.none().hasValue()",
        "[?self.?b, ?optional.of(dyn(1))] == [1] && {?'k': self.?b} == {}",
        "self[?'b'].hasValue() == false && [1][?0].value() == 1",
        "size('äö') == 2 && 'äö'.size() == 2 && size(b'ab') == 2 && size([1]) == 1 && size({}) == 0",
        "int('12') == 12 && int(2.9) == 2 && uint(3) == 3u && double('1.5') == 1.5 && string(1.0) == '1'",
        "bool('true') && bytes('a') == b'a' && string(b'a') == 'a' && string(true) == 'true'",
        "type(1) == int && type('') == string && type([]) == list && type(type(1)) == type && type(null) == null_type",
        "timestamp('2020-02-03T04:05:06.789Z').getMilliseconds() == 789",
        "timestamp('2020-02-03T04:05:06Z').getDayOfWeek() == 1 && timestamp('2020-02-03T04:05:06Z').getDate() == 3",
        "timestamp('2020-01-01T00:00:00Z').getHours('Europe/Berlin') == 1",
        "timestamp('2020-01-01T00:00:00Z').getHours('-02:30') == 21",
        "timestamp('2020-01-01T0:00:00,5Z').getMinutes('+2:5') == 5",
        "string(duration('1ns')) == '0.000000001s' && string(duration('-1h0.5s')) == '-3600.5s' && string(duration('0s')) == '0s'",
        "string(duration('2562047h47m16.854775807s')) == '9223372036.854776s'",
        "string(1000000.0) == '1e+06' && string(123456.5) == '123456.5' && string(0.00001) == '1e-05'",
        "double('.5') == 0.5 && double('5.') == 5.0 && string(double('-inf')) == '-Inf'",
        "timestamp('2020-01-01T01:00:00+01:00') == timestamp('2020-01-01T00:00:00Z')",
        "duration('1h30m').getMinutes() == 90 && string(duration('1500ms')) == '1.5s' && duration('-1s') < duration('0')",
        "timestamp(0) + duration('1s') == timestamp(1) && timestamp(5) - timestamp(3) == duration('2s')",
        "string(timestamp(0)) == '1970-01-01T00:00:00Z' && int(timestamp(7)) == 7",
        "!!true && --1 == 1 && -(1) == -1",
        "(1 > 2 ? 'a' : 'b') == 'b'",
        "self.a == {'x': 1} && self != null",
        "{'a': 1, 'a': 2} == {'a': 2} && {'a': self, ?'a': optional.none()} == {} && {1.5: 'a'}[1.5] == 'a'",
    ],
)
def test_evaluator_true_expressions(expression):
    assert evaluated(expression, self={"a": {"x": 1}}) is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("-9223372036854775808 - 1", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("18446744073709551615u * 2u", "unsigned integer overflow"),
        ("[1][1]", "index out of bounds: 1"),
        ("{'a': 1}['b']", "no such key: b"),
        ("self.b", "no such key: b"),
        ("double('NaN') < 1.0", "NaN values cannot be ordered"),
        ("1 >= double('NaN')", "NaN values cannot be ordered"),
        ("dyn({1: 2})[2.0]", "no such key: 2"),
        ("self.a.x.y", "no such key: y"),
        ("dyn(1) + dyn('a')", "no such overload"),
        ("dyn(null) + dyn(1)", "no such overload: _+_"),
        ("dyn(1) && true", "no such overload"),
        ("dyn('a') - 1", "no such overload"),
        ("dyn(timestamp(0)) * 2", "no such overload"),
        ("dyn([]) < dyn([])", "no such overload: _<_"),
        ("!dyn(1)", "no such overload"),
        ("-dyn(true)", "no such overload"),
        ("-dyn(1u)", "no such overload: -_"),
        ("1 in dyn(2)", "no such overload"),
        ("size(dyn(1))", "no such overload: size"),
        ("dyn(duration('1s')).size()", "no such overload"),
        ("dyn(1).contains('a')", "no such overload"),
        ("'a'.startsWith(dyn(1))", "no such overload"),
        ("dyn(1).matches('a')", "no such overload: matches"),
        ("'a'.matches(dyn(1))", "no such overload"),
        ("dyn(1).getHours()", "no such overload: getHours(int)"),
        ("dyn({'a': 1}).sortBy(x, x)", "no such overload: @sortByAssociatedKeys(map, list)"),
        ("[0, 2].all(x, 1 / x == 0)", "division by zero"),
        ("[0].map(x, 1 / x)", "division by zero"),
        ("int('a')", "type conversion error from 'string' to 'int'"),
        ("double('1e400')", "type conversion error from 'string' to 'double'"),
        ("double('1_0')", "type conversion error from 'string' to 'double'"),
        ("duration('1' + '')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("duration(1)", "type conversion error from 'int' to 'google.protobuf.Duration'"),
        ("timestamp('2020' + '')", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        (
            "timestamp('2020-02-30T00:00:00Z' + '')",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        (
            "timestamp('2020-01-01T00:00:00+25:00' + '')",
            "type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
        ("timestamp('0000-01-01T00:00:00Z' + '')", "timestamp overflow"),
        ("timestamp(0).getHours('x:5')", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("timestamp(0).getHours('Mars')", "unknown time zone Mars"),
        ("optional.none().value()", "optional.none() dereference"),
        ("n", "no such attribute(s): n"),
        ("{dyn([]): 1}", "unsupported key type: list"),
        ("[?dyn(1)]", "cannot initialize optional list element from non-optional value 1"),
        ("{?'a': dyn('b')}", "cannot initialize optional entry 'a' from non-optional value b"),
    ],
)
def test_evaluator_reports_errors(expression, message):
    with pytest.raises(EvalError) as raised:
        evaluated(expression, self={"a": {"x": 1}})
    assert str(raised.value) == message


def test_evaluator_returns_python_values():
    assert evaluated("[dyn(1), dyn(2.5), dyn(null), dyn(true), dyn(b'x'), dyn(1u)]") == [
        1,
        2.5,
        None,
        True,
        b"x",
        UInt(1),
    ]
