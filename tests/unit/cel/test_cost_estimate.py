"""Cost estimates with upstream's numbers; they decide which CustomResourceDefinitions are valid."""

from __future__ import annotations

import pytest

from steersman.cel.cost_estimate import UNBOUNDED
from steersman.cel.openapi import declare
from steersman.cel.schema_rules import compile_rules


def kind(name):
    """Return a schema of a type, or of a string with a format."""
    if name == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    return {"type": "string", "format": name} if name in ("duration", "date", "date-time", "byte") else {"type": name}


def bounded(schema, key, most):
    return schema if most is None else {**schema, key: most}


def array(item, most):
    return bounded({"type": "array", "items": item}, "maxItems", most)


def mapping(value, most):
    return bounded({"type": "object", "additionalProperties": value}, "maxProperties", most)


def text(most):
    return bounded({"type": "string"}, "maxLength", most)


def estimate(schema, rule):
    (result,) = compile_rules([{"rule": rule}], declare(schema, is_resource=False))
    assert result.error == ""
    return result.max_cost


@pytest.mark.parametrize(
    ("item", "rule", "most", "cost"),
    [
        ("number", "self.all(x, true)", None, 4718591),
        ("number", "self.all(x, true)", 10, 32),
        ("string", "self.all(x, true)", None, 3145727),
        ("boolean", "self.all(x, true)", None, 1887437),
        ("date-time", "self.all(x, true)", None, 428963),
        ("duration", "self.all(x, true)", None, 2359295),
        ("date", "self.all(x, true)", None, 725936),
        ("number", "self.all(x, x == 0.0)", None, 6291454),
        ("number", "self.all(x, self.all(y, true))", 10, 352),
        ("number", "self.all(x, self.all(y, self.all(z, true)))", 10, 3552),
        ("number", "self[1] == 0.0", None, 2),
        ("string", "self[1] == self[1]", None, 314577),
        ("int-or-string", "self[0] == 5", None, 3),
        ("duration", "self[0].getHours() == 2", None, 4),
        ("string", "self.join(' ') == 'aa bb'", None, 329853068905),
        ("string", "self.isSorted() == true", None, 329854432052),
    ],
)
def test_estimate_of_lists(item, rule, most, cost):
    assert estimate(array(kind(item), most), rule) == cost


@pytest.mark.parametrize(
    ("value", "rule", "most", "cost"),
    [
        ("number", "self.all(x, true)", None, 1348169),
        ("number", "self.all(x, true)", 10, 32),
        ("string", "self.all(x, true)", None, 1179647),
        ("boolean", "self.all(x, true)", None, 943718),
        ("date-time", "self.all(x, true)", None, 349526),
    ],
)
def test_estimate_of_maps(value, rule, most, cost):
    assert estimate(mapping(kind(value), most), rule) == cost


@pytest.mark.parametrize(
    ("rule", "most", "cost"),
    [
        ("self.contains('test')", None, 314574),
        ("self.contains('test')", 10, 5),
        ("self.startsWith('test')", None, 2),
        ("size(self + 'hello') > size('hello')", None, 314578),
        ("size(self + 'hello') > size('hello')", 4, 7),
        ("self.matches('x')", None, 314574),
        ("self.matches('x')", 50, 22),
        ("''.matches('(((((((((())))))))))[0-9]')", None, 7),
        ("self.matches('')", None, 1),
        ("self == 'x'", 0, 1),
        ("self.find('[0-9]+') == ''", None, 629147),
        ("self.find('[0-9]+') == ''", 10, 11),
    ],
)
def test_estimate_of_strings(rule, most, cost):
    assert estimate(text(most), rule) == cost


def test_estimate_of_nested_comprehensions():
    assert estimate(array(mapping(kind("number"), None), 12), "self.all(x, x.y == 25.2)") == 74
    assert estimate(array(mapping(kind("number"), None), None), "self[0].x > 2.0") == 4
    assert estimate(array(array(kind("number"), None), None), "self[0][0] == -1.0") == 3
    parts = {"type": "object", "properties": {"str": text(None), "before": text(2), "after": text(4)}}
    assert estimate(parts, "self.str.replace(self.before, self.after) == 'does not matter'") == 629154


def test_estimate_assumes_empty_map_keys():
    labels = mapping(text(63), 4096)
    assert estimate(labels, 'self.all(key, !key.contains("*"))') < estimate(
        labels, 'self.all(key, !self[key].contains("*"))'
    )
    assert estimate(labels, 'self.all(key, !key.contains("*"))') < 50_000


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("quantity(self.long) == quantity('1')", 5),
        ("quantity(self.a) != quantity('1')", UNBOUNDED),
        ("semver(self.a) == semver('1.2.3')", 5),
        ("ip(self.long) == ip('::1') && isIP(self.long)", 8),
        ("cidr(self.long).containsIP('10.0.0.1')", 8),
        ("cidr(self.long).containsCIDR(self.a)", 20),
        ("!format.dns1123Label().validate(self.a).hasValue()", 261),
        ("format.dns1123Label() == format.dns1123Label()", 9),
        ("url(self.a) == url('/x')", 19),
        ("string(self.n).contains('x')", UNBOUNDED),
        ("'%s'.format([self.a]).contains('a')", UNBOUNDED),
        ("string(self.b).contains('x')", 8),
        ("bytes(self.a).size() == 1", 12),
        ("strings.quote(self.a).contains('a')", 27),
        ("self.a.replace('aa', 'b').contains('x')", 26),
        ("self.a.replace('a', 'bbb').contains('x')", 42),
        ("self.a.split(',', 2).exists(x, x == 'a')", 29),
        ("sets.contains(self.l, ['a', 'b'])", 23),
        ("self.l.sort() == ['a']", 77),
        ("self.l.distinct().size() == 1", 65),
        ("self.l.slice(0, 2) == ['a']", 26),
        ("self.l.reverse() == ['a']", 29),
        ("lists.range(5).size() == 1", 18),
        ("lists.range(self.n).all(x, x > 1)", UNBOUNDED),
        ("[self.l, self.l].flatten().size() == 1", 29),
        ("matches(self.a, 'x')", 3),
    ],
)
def test_estimate_of_library_functions(rule, cost):
    fields = {
        "a": text(20),
        "long": text(None),
        "n": kind("integer"),
        "b": {**kind("byte"), "maxLength": 30},
        "l": array(text(10), 5),
    }
    assert estimate({"type": "object", "properties": fields}, rule) == cost
