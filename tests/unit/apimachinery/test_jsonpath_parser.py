from __future__ import annotations

import pytest

from steersman.apimachinery.jsonpath_parser import (
    Field,
    Filter,
    Identifier,
    JSONPathError,
    Literal,
    Recursive,
    Slice,
    Union,
    Wildcard,
    parse,
)

INDEX = Slice(1, None, None, is_index=True)


@pytest.mark.parametrize(
    ("path", "nodes"),
    [
        (".a.b", (Field("a"), Field("b"))),
        (".a\\.b", (Field("a.b"),)),
        (".*", (Wildcard(),)),
        ("..a", (Recursive(), Field("a"))),
        (".a[1]", (Field("a"), INDEX)),
        (".a[*]", (Field("a"), Slice(None, None, None, is_index=False))),
        (".a[-2:]", (Field("a"), Slice(-2, None, None, is_index=False))),
        (".a[0:4:2]", (Field("a"), Slice(0, 4, 2, is_index=False))),
        ("['a.b']", (Field("a"), Field("b"))),
        ("['a',1]", (Union(((Field("a"),), (INDEX,))),)),
        ("[?(@.a)]", (Filter((Field("a"),), "", ()),)),
        ("[?(@.a >= -1.5)]", (Filter((Field("a"),), ">=", (Literal(-1.5),)),)),
        ("[?(@.a=='x)y')]", (Filter((Field("a"),), "==", (Literal("x)y"),)),)),
        ('[?(@.a=="x\\"\\u00e9")]', (Filter((Field("a"),), "==", (Literal('x"é'),)),)),
        ("[?(@.a==true)]", (Filter((Field("a"),), "==", (Literal(value=True),)),)),
        ("[?(@.a==word)]", (Filter((Field("a"),), "==", (Identifier("word"),)),)),
    ],
)
def test_parse_returns_the_nodes_of_a_path(path, nodes):
    assert parse(path) == nodes


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".a[", "unterminated array"),
        (".a[x]", "invalid array index x"),
        (".a[-]", "invalid array index -"),
        ("....", "invalid multiple recursive descent"),
        ("[?(@.a", "unterminated filter"),
        ("[?(@.a)x", "unclosed array expect ]"),
        ("'a", "unterminated quoted string"),
        ("'a\\q'", "unquote string 'a.q' error invalid syntax"),
        ("1.2.3", "cannot parse number 1.2.3"),
        ("#", r"unrecognized character in action: U\+0023 '#'"),
        ("\a", r"unrecognized character in action: U\+0007$"),
        (".a\n", "unclosed action"),
        (".a}{.b[", "unterminated array"),
        ("['" * 40, "unterminated array"),
    ],
)
def test_parse_rejects_malformed_paths(path, reason):
    with pytest.raises(JSONPathError, match=reason.replace("[", r"\[").replace("]", r"\]")):
        parse(path)
