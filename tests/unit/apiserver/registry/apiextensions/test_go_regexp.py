"""Regular expressions as Go reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.registry.apiextensions.go_regexp import check_go_regexp


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^[a-z]([-a-z0-9]*[a-z0-9])?$",
        r"\d+(\.\d+)?",
        "(?i)a(?:b|c)(?P<name>d)(?<other>e)",
        "(?s-m:a)",
        "[]a]",
        "[^]]",
        "[[:alpha:]_-]",
        r"[\w\-.]",
        r"\p{Greek}\pL\x{10FFFF}\x7f\07\Qa(b\E",
        "a{2,3}?b{2}c{2,}",
        "a{,3}",
        "a{b}",
        "a*?b+?c??",
        r"\Aa\b\z",
        "a|",
    ],
)
def test_what_go_compiles(pattern):
    assert check_go_regexp(pattern) == ""


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
        ("a*{2}", "invalid nested repetition operator: `*{2}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"a\1", r"invalid escape sequence: `\1`"),
        (r"[\b]", r"invalid escape sequence: `\b`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?P<a-b>c)", "invalid named capture: `(?P<a-b>`"),
        ("(?P<a>b)(?P<a>c)", "duplicate capture group name: `a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:letter:]]", "invalid character class range: `[:letter:]`"),
        (r"\p_", r"invalid character class range: `\p_`"),
    ],
)
def test_what_go_does_not_compile(pattern, fault):
    assert check_go_regexp(pattern) == f"error parsing regexp: {fault}"


@given(st.text(alphabet="ab()[]{}*+?|\\^$-,1:<>P=!pQdzx"))
def test_every_text_is_read(pattern):
    fault = check_go_regexp(pattern)
    assert fault == "" or fault.startswith("error parsing regexp: ")
