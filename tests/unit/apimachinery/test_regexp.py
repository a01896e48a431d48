"""Regular expressions of clients: Go's syntax, Go's errors, and RE2's bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apimachinery.regexp import STEPS_MAX, RegexpCostError, RegexpError, compile_regexp
from steersman.apimachinery.workmeter import Allowance, WorkLimitError, metered


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", "anything"),
        ("^[a-z]([-a-z0-9]*[a-z0-9])?$", "a-1"),
        (r"\d+(\.\d+)?", "x1.5"),
        ("(?i)a(?:b|c)(?P<name>d)(?<other>e)", "ACDE"),
        ("(?s-m:a.b)", "a\nb"),
        ("[]a]", "]"),
        ("[[:alpha:]_-]+$", "a_-"),
        (r"^\p{Greek}\pL\x{10FFFF}\x7f\07\Qa(b\E$", "αé\U0010ffff\x7f\x07a(b"),
        ("^a{2,3}?b{2}c{2,}$", "aabbcc"),
        ("^a{,3}$", "a{,3}"),
        ("^a{b}$", "a{b}"),
        (r"\Aa\b\z", "a"),
        ("a|", "b"),
        ("^.$", "é"),
        (r"\bé", "aé"),  # word boundaries are those of ASCII
        ("(?P<n>a)(?P<n>b)", "ab"),  # Go accepts a name twice
        (r"\Q\C(?P<é>\E", r"\C(?P<é>"),
        ("[(?P<é>]", "é"),
    ],
)
def test_matches_syntax_of_go(pattern, text):
    assert compile_regexp(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("^a$", "a\n"), ("^a.b$", "a\nb"), (r"^\d$", "٣"), (r"^\w$", "é"), ("^a$", "x\na"), ("^\\s$", "\u00a0")],
)
def test_matches_is_strict_where_python_is_not(pattern, text):
    assert not compile_regexp(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("(", "missing closing ): `(`"),
        ("a(b", "missing closing ): `a(b`"),
        ("a)b", "unexpected ): `a)b`"),
        ("a[b", "missing closing ]: `[b`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|+?", "missing argument to repetition operator: `+?`"),
        ("(*)", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("a*{2}", "invalid nested repetition operator: `*{2}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("((a{100}){100}){100}", "invalid repeat count: `{100}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"a\1", r"invalid escape sequence: `\1`"),
        (r"a\Z", r"invalid escape sequence: `\Z`"),
        (r"[\b]", r"invalid escape sequence: `\b`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?P=a)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?<!a>)b", "invalid named capture: `(?<!a>`"),
        ("(?P<a-b>c)", "invalid named capture: `(?P<a-b>`"),
        ("(?P<é>c)", "invalid named capture: `(?P<é>`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:letter:]]", "invalid character class range: `[:letter:]`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        (r"\p_", r"invalid character class range: `\p_`"),
        ("a\ud800", "invalid UTF-8: `a\ud800`"),
        (r"\pL{1000}", "expression too large"),
        ("a" * 10_001, "expression too large"),
    ],
)
def test_compile_regexp_rejects_with_the_message_of_go(pattern, fault):
    with pytest.raises(RegexpError) as raised:
        compile_regexp(pattern)
    assert str(raised.value) == f"error parsing regexp: {fault}"


@given(st.text(alphabet="ab()[]{}*+?|\\^$-,1:<>P=!pQdzxé"))
def test_compile_regexp_of_any_text_returns_or_raises_regexp_error(pattern):
    try:
        compile_regexp(pattern).matches("ab1")
    except RegexpError as error:
        text = str(error)
        assert text.startswith("error parsing regexp: ")
        assert text.count("`") >= 2


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a*", "baaac", ["", "aaa", ""]),  # an empty match behind another match does not count
        ("", "éa", ["", "", ""]),
        ("é|$", "aéa", ["é", ""]),
        ("^a", "aaa", ["a"]),
        (r"\ba", "aa a", ["a", "a"]),
        ("x", "aaa", []),
    ],
)
def test_find_all_returns_the_matches_of_go(pattern, text, matches):
    assert compile_regexp(pattern).find_all(text) == matches
    assert compile_regexp(pattern).find_all(text, 1) == matches[:1]
    assert compile_regexp(pattern).find_all(text, 0) == []


def test_find_returns_the_leftmost_match():
    assert compile_regexp("[0-9]+").find("é 12 3") == "12"
    assert compile_regexp("x").find("é") == ""


def test_matches_reads_lone_surrogates_as_replacement_characters():
    assert compile_regexp("^\ufffd$").matches("\ud800")


def test_matches_takes_time_linear_in_the_text():
    regexp = compile_regexp("^(a+)+$")
    with metered(Allowance(10_000)):
        assert not regexp.matches("a" * 10_000 + "b")


def test_matches_raises_for_texts_beyond_the_step_bound():
    regexp = compile_regexp("[ab]{900}x")
    with pytest.raises(RegexpCostError):
        regexp.matches("a" * (STEPS_MAX // 900))


def test_matches_spends_allowance_by_text_and_program():
    regexp = compile_regexp("[ab]{900}x")
    with metered(Allowance(10_000)):
        assert not regexp.matches("a" * 100)
        with pytest.raises(WorkLimitError):
            regexp.matches("a" * 1_000)
