"""Kubernetes' function libraries and cel-go's extensions."""

from __future__ import annotations

import pytest
from tests.unit.cel.expressions import compile_errors, evaluated

from steersman.cel.environment import kubernetes
from steersman.cel.library import jsonpatch
from steersman.cel.library.authorizer import AUTHORIZER, CheckAttributes, CheckDecision, authorizer
from steersman.cel.program import compile_expression
from steersman.cel.types import INT, list_of
from steersman.cel.values import EvalError

_NO_PREFIX = "network address parse error during conversion from string"


@pytest.mark.parametrize(
    "expression",
    [
        "'hello'.charAt(1) == 'e' && 'hello'.charAt(5) == ''",
        "'hello'.indexOf('l') == 2 && 'hello'.indexOf('l', 3) == 3 && 'hello'.lastIndexOf('l') == 3",
        "'hello'.indexOf('l', 30) == -1 && 'hello'.lastIndexOf('l', 30) == -1 && 'hello'.lastIndexOf('lo', 4) == 3",
        "'hello'.indexOf('', 30) == 30 && 'hello'.lastIndexOf('') == 5 && 'hello'.lastIndexOf('', 2) == 2",
        "'aXb'.lowerAscii() == 'axb' && 'aé'.upperAscii() == 'Aé' && ' a\\t'.trim() == 'a'",
        "'a-b-c'.replace('-', '.') == 'a.b.c' && 'a-b-c'.replace('-', '', 1) == 'ab-c'",
        "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'ab'.split('') == ['a', 'b']",
        "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco'",
        "['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b'",
        "strings.quote('a\"b') == '\"a\\\\\"b\"'",
        "'%s %d %.2f %x %b %e %%'.format(['a', 1, 1.5, 255, 5, 1.5]) == 'a 1 1.50 ff 101 1.500000\u202f\xd7\u202f10⁰⁰ %'",
        "'%f %.1f'.format([-1234567.5, 0.25]) == '-1,234,567.500000 0.2' && '%.2e'.format([0.000123]) == '1.230000\u202f\xd7\u202f10⁻⁰⁴'",
        "'%f %f %e'.format(['NaN', double('Infinity'), '-Infinity']) == 'NaN ∞ -∞'",
        "'%s %s'.format([1000000.0, double('inf')]) == '1e+06 +Inf' && '%b %o %X'.format([true, 8u, 'hi']) == '1 10 6869'",
        r"""'%s'.format([['a"\n', b'b', 1.0, null, int]]) == '["a\\"\\n", b"b", 1.000000, null, int]'""",
        r"""'%s'.format([{'b': duration('1s'), true: timestamp(0)}]) == '{"b":duration("1s"), true:timestamp("1970-01-01T00:00:00Z")}'""",
        "'%s'.format([[1, 2]]) == '[1, 2]' && '%s'.format([{'b': 1}]) == '{\"b\":1}'",
        "'abc 123'.matches('[0-9]+$') && !'abc'.matches('^b') && matches('a', 'a|b')",
        "'abc 123'.find('[0-9]*$') == '123' && '1 2 3'.findAll('[0-9]', 2) == ['1', '2'] && '1 2'.findAll('[0-9]') == ['1', '2']",
        "[1, 2, 3].sum() == 6 && [1.5].sum() == 1.5 && [duration('1s')].sum() == duration('1s')",
        "[3, 1].min() == 1 && ['b', 'a'].max() == 'b' && [1, 2].isSorted() && ![2, 1].isSorted()",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1",
        "[1, 2, 3].slice(1, 2) == [2] && [[1], [2, 3]].flatten() == [1, 2, 3] && [dyn([dyn([1])])].flatten(2) == [1]",
        "[1, 2, 1].distinct() == [1, 2] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]",
        "[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b']",
        "[{'n': 'b'}, {'n': 'a'}].sortBy(x, x.n) == [{'n': 'a'}, {'n': 'b'}]",
        "sets.contains([1, 2], [1]) && sets.equivalent([1, 1], [1]) && sets.intersects([1, 2], [2, 3])",
        "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1.5').add(1) == quantity('2500m')",
        "quantity('1k').sub(1).asInteger() == 999 && !quantity('500m').add(quantity('500m')).isInteger()",
        "quantity('0.3').asApproximateFloat() == 0.30000000000000004 && quantity('1.5Gi').asApproximateFloat() == 1610612736.0",
        "quantity('1k').asInteger() == 1000 && !quantity('50m').isInteger() && sign(quantity('-1')) == -1",
        "isQuantity('1Mi') && !isQuantity('x') && quantity('1').compareTo(quantity('2')) == -1",
        "url('https://u@h.example:8443/a%20b?x=1&x=2').getHost() == 'h.example:8443' && isURL('/path') && !isURL('x y')",
        "url('https://[::1]:80/p').getHostname() == '::1' && url('https://h/?x=1&x=2').getQuery() == {'x': ['1', '2']}",
        "ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && isIP('1.2.3.4') && !isIP('1.2.3')",
        "ip.isCanonical('::1') && !ip.isCanonical('0:0::1') && string(ip('10.0.0.1')) == '10.0.0.1'",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8",
        "!format.dns1123Label().validate('name').hasValue() && format.named('uuid').hasValue()",
        "semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && semver('1.2.3').minor() == 2 && isSemver('1.2.3')",
        "semver('v1.2', true) == semver('1.2.0') && !isSemver('v1.2')",
        "[optional.of(1), optional.none()].unwrapOpt() == [1] && [1, 2].last().value() == 2",
        "!optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue() && optional.ofNonZeroValue(1).hasValue()",
        "optional.ofNonZeroValue('').or(optional.of('x')).value() == 'x'",
    ],
)
def test_library_true_expressions(expression):
    assert evaluated(expression) is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'a'.charAt(5)", "index out of range: 5"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("dyn([]).min()", "min called on empty list"),
        ("[1].slice(0, 2)", "cannot slice(0, 2), list is length 1"),
        ("[1].slice(-1, 2)", "cannot slice(-1, 2), negative indexes not supported"),
        ("[dyn(1), dyn('a')].sort()", "list elements must have the same type"),
        (
            "quantity('x')",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("quantity('1.5').asInteger()", "cannot convert value to integer"),
        ("quantity('1000m').asInteger()", "cannot convert value to integer"),
        ("quantity('1.5Gi').asInteger()", "cannot convert value to integer"),
        ("semver('1.2')", "No Major.Minor.Patch elements found"),
        ("semver('v1.2.3')", 'Invalid character(s) found in major number "v1"'),
        ("semver('1.02.3')", 'Minor number must not contain leading zeroes "02"'),
        ("semver('1.2.3-01')", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("semver('1.2.3-a_b')", 'Invalid character(s) found in prerelease "a_b"'),
        ("semver('1.2.3-')", "Prerelease is empty"),
        ("semver('1.2.3+')", "Build meta data is empty"),
        ("semver('..')", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("semver('v1-rc', true)", "short version cannot contain PreRelease/Build meta data"),
        ("url('a')", 'URL parse error during conversion from string: parse "a": invalid URI for request'),
        (
            "ip('1.2.3')",
            'IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short',
        ),
        ("ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        (
            "cidr('a')",
            f"{_NO_PREFIX}: {_NO_PREFIX}: netip.ParsePrefix(\"a\"): no '/'",
        ),
        ("cidr('10.0.0.0/8').containsIP('a')", "no such overload"),
        (
            "'%d'.format([dyn('a')])",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        (
            "'%d'.format([dyn(1.0)])",
            "error during formatting: decimal clause can only be used on integers, was given double",
        ),
        ("'%s'.format(dyn([]))", "index 0 out of range"),
        ("'%'.format(dyn([]))", "index 0 out of range"),
        ("'%'.format(dyn([1]))", "unexpected end of string"),
        ("'%a'.format(dyn([1]))", 'could not parse formatting clause: unrecognized formatting clause "a"'),
        ("'a'.indexOf('a', -1)", "index out of range: -1"),
        ("''.lastIndexOf('a')", "index out of range: -1"),
        ("'a'.find(s)", "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("'a'.matches(s)", "error parsing regexp: missing closing ): `(`"),
    ],
)
def test_library_reports_errors(expression, message):
    with pytest.raises(EvalError) as raised:
        evaluated(expression, s="(")
    assert str(raised.value) == message


@pytest.mark.parametrize("pattern", [r"(?=a)", r"(?<!a)", r"(a)\\1", "a++", "(?P=x)"])
def test_regex_rejects_patterns_unsupported_by_re2(pattern):
    assert compile_errors(f"s.matches('{pattern}')") == ["1:11: invalid matches argument"]


def test_matches_never_backtracks():
    assert evaluated("s.matches('^(a+)+$')", s="a" * 300 + "b") is False


@pytest.mark.parametrize("call", ["matches('a.*')", "find('a.*') == ''", "findAll('a.*') == []"])
def test_regex_above_the_cost_limit_is_not_executed(call):
    with pytest.raises(EvalError, match="cost limit exceeded"):
        evaluated(f"s.{call}", s="a" * 10_000_001)


@pytest.mark.parametrize("name", ["contains", "equivalent", "intersects"])
def test_sets_above_the_cost_limit_are_not_compared(name):
    items = [{"a": number} for number in range(1_001)]
    with pytest.raises(EvalError, match="cost limit exceeded"):
        evaluated(f"sets.{name}(self, self)", self=items)


def test_dollar_matches_only_the_end_of_the_text():
    assert evaluated("s.matches('^a$')", s="a\n") is False


def test_authorizer_receives_the_check_attributes():
    requests: list[CheckAttributes] = []

    def ask(query):
        requests.append(query)
        return CheckDecision(query.verb == "get", "because")

    environment = kubernetes().extended(variables={"authorizer": AUTHORIZER})
    text = (
        "authorizer.serviceAccount('ns', 'sa').group('apps').resource('deployments').subresource('scale').namespace('n')"
        ".name('x').check('get').allowed() && authorizer.path('/healthz').check('post').reason() == 'because'"
    )
    program = compile_expression(text, environment)
    assert program.evaluate({"authorizer": authorizer(ask)}).value is True
    assert requests == [
        CheckAttributes(("ns", "sa"), "get", "", "apps", "deployments", "scale", "n", "x"),
        CheckAttributes(None, "post", "/healthz"),
    ]


def test_authorizer_checks_are_limited_by_cost():
    environment = kubernetes().extended(variables={"authorizer": AUTHORIZER})
    one = "authorizer.path('/x').check('get').allowed()"
    program = compile_expression(f"{one} && {one} && {one}", environment)
    result = program.evaluate({"authorizer": authorizer(lambda _: CheckDecision(allowed=True))})
    assert str(result.error) == "operation cancelled: actual cost limit exceeded"


def test_object_and_json_patch_literals():
    environment = kubernetes().extended(
        variables={}, functions=jsonpatch.functions(), resolve_type=jsonpatch.resolve_type
    )
    created = compile_expression("Object{spec: Object.spec{replicas: 3, ?paused: optional.none()}}", environment)
    assert created.evaluate({}).value == {"spec": {"replicas": 3}}
    patch = compile_expression(
        "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/c'), value: 1}]", environment
    )
    assert (str(patch.type), patch.evaluate({}).value) == (
        "list(JSONPatch)",
        [{"op": "add", "path": "/a/b~1c", "value": 1}],
    )


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("self.sort()", 30),
        ("self.distinct()", 30),
        ("self.reverse()", 15),
        ("self.slice(0, 2)", 14),
        ("self.sum()", 4),
        ("[self].flatten(2)", 24),
        ("sets.equivalent(self, self)", 21),
    ],
)
def test_lists_charge_upstream_costs(expression, cost):
    program = compile_expression(expression, kubernetes().extended(variables={"self": list_of(INT)}))
    result = program.evaluate({"self": [3, 1, 2]})
    assert result.error is None
    assert result.cost == cost


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("path(' ')", "path must not be empty"),
        ("group('').resource('')", "resource must not be empty"),
        ("serviceAccount('ns', 'A')", "Invalid service account name"),
        ("serviceAccount('', 'sa')", "Invalid service account namespace"),
    ],
)
def test_authorizer_rejects_incomplete_checks(check, message):
    environment = kubernetes().extended(variables={"authorizer": AUTHORIZER})
    result = compile_expression(f"authorizer.{check}", environment).evaluate(
        {"authorizer": authorizer(lambda _: CheckDecision(allowed=True))}
    )
    assert str(result.error) == message
