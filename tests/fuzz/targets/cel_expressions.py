"""CEL: parsing and checking raise CompileError only, evaluation returns a value or an EvalError within its cost."""

from __future__ import annotations

from functools import cache

from tests.fuzz.choices import Choices

from steersman.cel import types as t
from steersman.cel.cost_estimate import estimate_cost
from steersman.cel.environment import Environment, kubernetes
from steersman.cel.program import compile_expression
from steersman.cel.source import CompileError
from steersman.cel.values import EvalError

TOKENS = tuple(word.encode() for word in (
    "self", "x", "xs", "text", "==", "!=", "&&", "||", "!", "?", ":", "(", ")", "[", "]", "{", "}", ".", ",", "+", "-", "*", "/", "%", "in", "has(",
    "size(", ".all(i, ", ".exists(i, ", ".exists_one(i, ", ".map(i, ", ".filter(i, ", "int(", "uint(", "double(", "string(", "bytes(", "timestamp(",
    "duration(", "type(", "dyn(", "'a'", '"b"', "b'\\xff'", "r'\\'", "1u", "1.5", "1e400", "9223372036854775807", "-9223372036854775808", "null", "true",
    ".matches('a+')", ".split(',')", ".join()", ".format([1])", "'%d %s'", "quantity('1Gi')", "semver('1.2.3')", "ip('::1')", "cidr('10.0.0.0/8')",
    "url('http://a')", "optional.of(", ".?a", "[?1]", ".orValue(", "cel.bind(y, 1, y)", ".sum()", ".min()", ".isSorted()", ".indexOf(", ".substring(",
    ".replace(", "sets.contains(", "math.greatest(", ".getFullYear()", "{'a': 1}", "[1, 2]", "lists.range(", ".sortBy(i, i)", ".flatten()",
))  # fmt: skip
COST_LIMIT = 20_000
VARIABLES = {
    "self": {"a": 1, "b": [1, "x", None, True, 1.5], "c": {"d": "e"}},
    "x": 7,
    "xs": ["a", "b", "c"],
    "text": "aä,b",
}


def run(data: bytes) -> None:
    text = data.decode("utf-8", "replace") if data[:1] >= b" " else _sentence(Choices(data[1:]))
    try:
        program = compile_expression(text, _environment())
    except CompileError as error:
        assert str(error)
        return
    assert estimate_cost(program.tree) >= 0
    first = program.evaluate(VARIABLES, cost_limit=COST_LIMIT)
    assert first.error is None or (isinstance(first.error, EvalError) and str(first.error) is not None)
    second = program.evaluate(VARIABLES, cost_limit=COST_LIMIT)
    assert (first.cost, str(first.error)) == (second.cost, str(second.error))


@cache
def _environment() -> Environment:
    variables = {"self": t.ANY, "x": t.INT, "xs": t.list_of(t.STRING), "text": t.STRING}
    return kubernetes().extended(variables=variables)


_ATOMS = ("self", "self.a", "self.b", "x", "xs", "text", "1", "-1", "1u", "1.5", "'a'", "b'a'", "null", "true", "[1, 2]", "{'a': 1}",
          "duration('1h')", "timestamp('2024-05-06T07:08:09Z')", "quantity('1Gi')", "9223372036854775807", "'%s'", "''", "semver('1.2.3')",
          "ip('::1')", "cidr('10.0.0.0/8')", "url('http://a/b?c=d')", "optional.none()", "optional.of(1)", "double('NaN')", "type(1)")  # fmt: skip
_BINARY = (" == ", " != ", " < ", " >= ", " && ", " || ", " + ", " - ", " * ", " / ", " % ", " in ")
_UNARY = ("-", "!", "int(", "uint(", "double(", "string(", "bytes(", "timestamp(", "duration(", "type(", "dyn(", "size(", "quantity(", "ip(", "cidr(",
          "isIP(", "url(", "isURL(", "semver(", "has(", "sets.contains([1],", "math.greatest(", "math.abs(", "lists.range(", "base64.encode(",
          "optional.of(", "optional.ofNonZeroValue(", "format.named(")  # fmt: skip
_MEMBERS = (".a", ".?a", "[0]", "['a']", "[?0]", ".all(i, i == 1)", ".exists(i, i > 0)", ".map(i, i + i)", ".filter(i, i != 1)", ".exists_one(i, i)",
            ".all(k, v, v == k)", ".transformList(k, v, v)", ".transformMap(k, v, v)", ".size()", ".sum()", ".min()", ".max()", ".isSorted()",
            ".indexOf('a')", ".lastIndexOf('a', 1)", ".substring(1)", ".substring(0, 9)", ".charAt(0)", ".split(',')", ".split('', 2)", ".join('-')",
            ".replace('a', 'b', 1)", ".lowerAscii()", ".trim()", ".reverse()", ".matches('a(b|c)*')", ".find('[a-z]')", ".findAll('a')",
            ".format(['a', 1, 1.5])", ".contains('a')", ".startsWith('')", ".orValue(1)", ".value()", ".hasValue()", ".getSeconds()",
            ".getFullYear('America/New_York')", ".getHours('+25:00')", ".asInteger()", ".add(1)", ".sub(quantity('1k'))", ".isInteger()",
            ".compareTo(quantity('1'))", ".family()", ".containsIP('10.0.0.1')", ".prefixLength()", ".getHost()", ".getQuery()", ".major()",
            ".isLessThan(semver('2.0.0'))", ".flatten()", ".sort()", ".sortBy(i, i)", ".distinct()", ".slice(0, 1)", ".first()", ".last()",
            ".optMap(i, i + 1)", ".optFlatMap(i, optional.of(i))", ".validate('a')")  # fmt: skip


def _sentence(choices: Choices, depth: int = 5) -> str:
    """Return an expression of CEL's grammar; many have a type error, few a syntax error."""
    form = choices.below(6) if depth else 0
    if form == 1:
        return _sentence(choices, depth - 1) + choices.pick(_BINARY) + _sentence(choices, depth - 1)
    if form == 2:
        operator = choices.pick(_UNARY)
        return f"{operator}{_sentence(choices, depth - 1)}{')' * (operator.count('(') - operator.count(')'))}"
    if form == 3:
        return f"({_sentence(choices, depth - 1)}){choices.pick(_MEMBERS)}"
    if form == 4:
        parts = [_sentence(choices, depth - 1) for _ in range(3)]
        return choices.pick(
            ("({0} ? {1} : {2})", "[{0}, {1}, ?{2}]", "{{{0}: {1}, ?'k': {2}}}", "cel.bind(y, {0}, y == {1})")
        ).format(*parts)
    if form == 5:
        return f"{_sentence(choices, depth - 1)}{choices.pick(_MEMBERS)}"
    return choices.pick(_ATOMS)
