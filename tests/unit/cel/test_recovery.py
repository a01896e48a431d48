"""Syntax errors, compared with ANTLR's messages."""

from __future__ import annotations

import pytest
from tests.unit.cel.expressions import compile_errors

from steersman.cel import prediction
from steersman.cel.atn import Network
from steersman.cel.parser import parse
from steersman.cel.prediction import WAYS_MAX
from steersman.cel.recovery import explain
from steersman.cel.source import CelError
from steersman.cel.tokens import tokenize

START = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


@pytest.mark.parametrize(
    ("expression", "faults"),
    [
        ("", [f"1:1: Syntax error: mismatched input '<EOF>' expecting {START}"]),
        ("self >", [f"1:7: Syntax error: mismatched input '<EOF>' expecting {START}"]),
        ("a.", ["1:3: Syntax error: no viable alternative at input '.'"]),
        ("a..b", ["1:3: Syntax error: no viable alternative at input '..'"]),
        ("a b", ["1:3: Syntax error: extraneous input 'b' expecting <EOF>"]),
        ("a b c", ["1:3: Syntax error: mismatched input 'b' expecting <EOF>"]),
        ("(a", ["1:3: Syntax error: missing ')' at '<EOF>'"]),
        ("a ? b", ["1:6: Syntax error: mismatched input '<EOF>' expecting ':'"]),
        ("a ? b :", [f"1:8: Syntax error: mismatched input '<EOF>' expecting {START}"]),
        ("1 + + 2", [f"1:5: Syntax error: extraneous input '+' expecting {START}"]),
        ("a === b", ["1:5: Syntax error: token recognition error at: '= '"]),
        (
            "'abc",
            [
                "1:1: Syntax error: token recognition error at: ''abc'",
                f"1:5: Syntax error: mismatched input '<EOF>' expecting {START}",
            ],
        ),
        ("a.true", ["1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER"]),
        ("[1 2]", ["1:4: Syntax error: extraneous input '2' expecting {']', ','}"]),
        ("if", ["1:1: reserved identifier: if"]),
        ("9223372036854775808", ["1:1: invalid int literal"]),
        ("has(a)", ["1:5: invalid argument to has() macro"]),
        ("l.all(1, true)", ["1:7: argument must be a simple name"]),
        ("l.map(1, true)", ["1:7: argument is not an identifier"]),
        ("l.sortBy(1, x)", ["1:10: argument is not an identifier"]),
        (
            "1.sortBy(x, x)",
            ["1:1: sortBy can only be applied to a list, identifier, comprehension, call or select expression"],
        ),
        ("a.`b-c`", ["1:3: unsupported syntax: '`'"]),
    ],
)
def test_syntax_errors_are_those_of_antlr(expression, faults):
    try:
        parse(expression)
    except CelError as error:
        result = [line.removeprefix("ERROR: <input>:") for line in str(error).split("\n") if line.startswith("ERROR")]
    assert result == faults


def test_error_message_marks_the_position():
    with pytest.raises(CelError) as message:
        parse("true &&\n\t'ä' ==")
    assert str(message.value) == (
        f"ERROR: <input>:2:8: Syntax error: mismatched input '<EOF>' expecting {START}\n |  'ä' ==\n | ..\uff0e....^"
    )


def test_errors_are_sorted_by_position():
    assert [text.partition(" ")[0] for text in compile_errors("x + y")] == ["1:1:", "1:5:"]


def test_lookahead_states_are_shared_by_repeated_operators():
    """A syntax error after a long expression needs no more states than one after a short expression."""
    net = Network()
    sizes = []
    for count in (10, 1000):
        tokens, unreadable = tokenize("1 + " * count)
        explain("1 + " * count, tokens, unreadable, net=net)
        sizes.append(net.automaton.ways)
    assert sizes[0] == sizes[1]


def test_lookahead_states_are_bounded():
    net = Network()
    for text in ("[" * 200 + "1", "(" * 300 + "1", "{1:" * 150):
        tokens, unreadable = tokenize(text)
        explain(text, tokens, unreadable, net=net)
    assert 0 < net.automaton.ways <= 2 * WAYS_MAX


def test_lookahead_of_nested_ambiguous_calls_grows_linearly():
    ways = []
    for count in (5, 10, 20):
        net = Network()
        text = "-1[?1].replace(" * count + ".replace(1"
        tokens, unreadable = tokenize(text)
        assert explain(text, tokens, unreadable, net=net)
        ways.append(net.automaton.ways)
    assert ways[2] - ways[1] < 2.5 * (ways[1] - ways[0])


def test_lookahead_decides_when_one_prediction_makes_too_many_states(monkeypatch):
    monkeypatch.setattr(prediction, "WAYS_MAX", 100)
    net = Network()
    text = "-1[?1].replace(" * 20 + ".replace(1"
    tokens, unreadable = tokenize(text)
    assert explain(text, tokens, unreadable, net=net)
