"""Syntax errors, as ANTLR tells them of CEL's grammar."""

from __future__ import annotations

import pytest
from tests.unit.cel.expressions import fault

from steersman.cel.atn import Network
from steersman.cel.parser import parse
from steersman.cel.prediction import STATES_MAX
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
        ("a.`b-c`", ["1:3: unsupported syntax: '`'"]),
    ],
)
def test_what_is_told(expression, faults):
    try:
        parse(expression)
    except CelError as error:
        found = [line.removeprefix("ERROR: <input>:") for line in str(error).split("\n") if line.startswith("ERROR")]
    assert found == faults


def test_the_line_is_shown_with_a_mark_below_the_place():
    with pytest.raises(CelError) as told:
        parse("true &&\n\t'ä' ==")
    assert str(told.value) == (
        f"ERROR: <input>:2:8: Syntax error: mismatched input '<EOF>' expecting {START}\n |  'ä' ==\n | ..\uff0e....^"
    )


def test_faults_come_in_the_order_of_their_places():
    assert [text.partition(" ")[0] for text in fault("x + y")] == ["1:1:", "1:5:"]


def test_lookahead_states_are_shared_by_repeated_operators():
    """A syntax error at the end of a long text costs no more states than one at the end of a short text."""
    net = Network()
    sizes = []
    for count in (10, 1000):
        tokens, unreadable = tokenize("1 + " * count)
        explain("1 + " * count, tokens, unreadable, net=net)
        sizes.append(net.automaton.size)
    assert sizes[0] == sizes[1]


def test_lookahead_states_are_bounded():
    net = Network()
    for text in ("[" * 200 + "1", "(" * 300 + "1", "{1:" * 150):
        tokens, unreadable = tokenize(text)
        explain(text, tokens, unreadable, net=net)
    assert 0 < net.automaton.size <= 2 * STATES_MAX
