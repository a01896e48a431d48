"""Lexer, with the token names and lexical errors of CEL's ANTLR grammar."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from steersman.cel.source import Issue

#: Grammar order, which is the order of expected tokens in messages.
NAMES: Final = (
    "<EOF>",
    "'=='",
    "'!='",
    "'in'",
    "'<'",
    "'<='",
    "'>='",
    "'>'",
    "'&&'",
    "'||'",
    "'['",
    "']'",
    "'{'",
    "'}'",
    "'('",
    "')'",
    "'.'",
    "','",
    "'-'",
    "'!'",
    "'?'",
    "':'",
    "'+'",
    "'*'",
    "'/'",
    "'%'",
    "'true'",
    "'false'",
    "'null'",
    "NUM_FLOAT",
    "NUM_INT",
    "NUM_UINT",
    "STRING",
    "BYTES",
    "IDENTIFIER",
    "ESC_IDENTIFIER",
)
_SIGNS: Final = {name.strip("'"): number for number, name in enumerate(NAMES) if name.startswith("'")}
EOF: Final = 0
#: Token types by their grammar notation: ``TYPE["'=='"]``, ``TYPE["STRING"]``.
TYPE: Final = {name: number for number, name in enumerate(NAMES)}
NUM_FLOAT, NUM_INT, NUM_UINT = TYPE["NUM_FLOAT"], TYPE["NUM_INT"], TYPE["NUM_UINT"]
STRING, BYTES, IDENTIFIER, ESC_IDENTIFIER = TYPE["STRING"], TYPE["BYTES"], TYPE["IDENTIFIER"], TYPE["ESC_IDENTIFIER"]

_ESCAPE: Final = r"\\(?:[abfnrtv\"'`?\\]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_QUOTED: Final = (
    rf'[rR](?:"""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"[^"\n\r]*"|\'[^\'\n\r]*\')'
    rf'|"""(?:{_ESCAPE}|[^\\])*?"""|\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\''
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"|\'(?:{_ESCAPE}|[^\\\'\n\r])*\''
)
_TOKEN: Final = re.compile(
    rf"""(?P<skip>[\t \r\n\f]+|//[^\n]*)
    |(?P<bytes>[bB](?:{_QUOTED}))
    |(?P<string>{_QUOTED})
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])""",
    re.VERBOSE,
)
_KINDS: Final = {
    "bytes": BYTES,
    "string": STRING,
    "float": NUM_FLOAT,
    "int": NUM_INT,
    "uint": NUM_UINT,
    "escaped": ESC_IDENTIFIER,
}
#: Prefix that an unterminated literal consumes before the lexer fails.
_UNFINISHED: Final = re.compile(
    rf"[rRbB]{{0,2}}(?:\"\"\"(?:{_ESCAPE}|[^\\])*|'''(?:{_ESCAPE}|[^\\])*"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*|'(?:{_ESCAPE}|[^\\'\n\r])*|`[A-Za-z0-9_.\-/ ]*|[&|=])"
)


class Token(NamedTuple):
    """A token and its offset in code points."""

    type: int
    text: str
    position: int


class Unreadable(NamedTuple):
    """Text that matches no token."""

    begin: int
    end: int

    def issue(self, text: str) -> Issue:
        """Return the issue with ANTLR's message."""
        return Issue(self.begin, f"Syntax error: token recognition error at: '{escape(text[self.begin : self.end])}'")


def tokenize(text: str) -> tuple[list[Token], list[Unreadable]]:
    """Return the tokens, ending with EOF, and the unreadable parts."""
    tokens: list[Token] = []
    unreadable: list[Unreadable] = []
    place, end, match = 0, len(text), _TOKEN.match
    while place < end:
        token = match(text, place)
        if token is None:
            unreadable.append(_unreadable(text, place))
            place = unreadable[-1].end
            continue
        kind, word = str(token.lastgroup), token[0]
        if kind in ("word", "sign"):
            tokens.append(Token(_SIGNS.get(word, IDENTIFIER), word, place))
        elif kind != "skip":
            tokens.append(Token(_KINDS[kind], word, place))
        place = token.end()
    tokens.append(Token(EOF, "<EOF>", end))
    return tokens, unreadable


def _unreadable(text: str, place: int) -> Unreadable:
    unfinished = _UNFINISHED.match(text, place)
    stop = max(unfinished.end(), place + 1) if unfinished else place + 1
    if unfinished and text[stop : stop + 1] == "\\":
        stop += 1
    # The message includes the offending character, except at the end of the text.
    return Unreadable(place, min(stop + 1, len(text)) if unfinished else stop)


def escape(text: str) -> str:
    """Escape line breaks and tabs for messages."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
