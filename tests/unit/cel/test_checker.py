from __future__ import annotations

import pytest
from tests.unit.cel.expressions import compile_errors, type_of


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("1", "int"),
        ("1u", "uint"),
        ("1.5", "double"),
        ("'a'", "string"),
        ("b'a'", "bytes"),
        ("null", "null_type"),
        ("[1, 2]", "list(int)"),
        ("[]", "list(dyn)"),
        ("{'a': 1}", "map(string, int)"),
        ("self.a.b", "dyn"),
        ("o.b.c", "string"),
        ("m.x", "int"),
        ("l[0]", "int"),
        ("l.map(x, string(x))", "list(string)"),
        ("m.map(k, k)", "list(string)"),
        ("l.filter(x, x > 1)", "list(int)"),
        ("m.transformMap(k, v, string(v))", "map(string, string)"),
        ("l.transformList(i, x, i == x)", "list(bool)"),
        ("n > 1 ? 'a' : 'b'", "string"),
        ("timestamp('2020-01-01T00:00:00Z') - duration('1h')", "google.protobuf.Timestamp"),
        ("type(1)", "type(int)"),
        ("m[?'a']", "optional_type(int)"),
        ("self.?a.orValue(1)", "dyn"),
        ("m.?a.orValue(1)", "int"),
        ("optional.of(1).optMap(x, string(x))", "optional_type(string)"),
        ("quantity('1')", "kubernetes.Quantity"),
        ("1 < 2u && 1.5 >= 1", "bool"),
        ("o.__if__", "int"),
    ],
)
def test_checker_infers_types(expression, type_):
    assert type_of(expression) == type_


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("x", "1:1: undeclared reference to 'x' (in container '')"),
        ("x.y == 1", "1:1: undeclared reference to 'x' (in container '')"),
        ("f(1)", "1:2: undeclared reference to 'f' (in container '')"),
        ("s.f()", "1:4: undeclared reference to 'f' (in container '')"),
        ("1 + 'a'", "1:3: found no matching overload for '_+_' applied to '(int, string)'"),
        ("s.contains(1)", "1:11: found no matching overload for 'contains' applied to 'string.(int)'"),
        ("!1", "1:1: found no matching overload for '!_' applied to '(int)'"),
        ("o.x", "1:2: undefined field 'x'"),
        ("has(o.x)", "1:4: undefined field 'x'"),
        ("n.x", "1:2: type 'int' does not support field selection"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'c'}", "1:15: expected type 'int' but found 'string'"),
        ("true ? 1 : 'a'", "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
        ("l.all(x, x)", "1:6: found no matching overload for '_&&_' applied to '(bool, int)'"),
        ("l.exists(x, 'a')", "1:9: found no matching overload for '_||_' applied to '(bool, string)'"),
        (
            "n.all(x, true)",
            "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("null == 1", "1:6: found no matching overload for '_==_' applied to '(null, int)'"),
        ("Thing{a: 1}", "1:6: undeclared reference to 'Thing' (in container '')"),
        ("duration('x')", "1:10: invalid duration argument"),
        ("timestamp('x')", "1:11: invalid timestamp argument"),
        ("s.matches('(')", "1:11: invalid matches argument"),
        ("l['a']", "1:2: found no matching overload for '_[_]' applied to '(list(int), string)'"),
        (
            "timestamp('2020-01-01T00:00:00Z') == 1",
            "1:35: found no matching overload for '_==_' applied to '(timestamp, int)'",
        ),
    ],
)
def test_checker_reports_type_errors(expression, message):
    assert compile_errors(expression) == [message]
