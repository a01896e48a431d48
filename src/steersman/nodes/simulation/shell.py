"""Parser of the shell grammar that simulated containers support: words, quotes, variables, redirections of output, lists
of commands.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPERATOR: Final = re.compile(r"&&|\|\||;|\n")
_REDIRECTION: Final = re.compile(r"(>>?)[ \t]*")
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
#: Other spaces of Unicode are part of a word.
_BARE: Final = re.compile(r"[^\s'\"$\\`*?\[\]<>|&;(){}~#]+", re.ASCII)
_BLANKS: Final = " \t\r"
_ESCAPABLE: Final = '$`"\\'


class UnsupportedScriptError(Exception):
    """Script with unsupported syntax or commands."""


class Redirection(NamedTuple):
    """Redirection of the output to a file."""

    path: str
    #: True for ``>>``.
    appends: bool


class SimpleCommand(NamedTuple):
    """A command and the operator that precedes it: ``;``, ``&&`` or ``||``."""

    operator: str
    words: list[str]
    #: True if no ``&&`` or ``||`` follows: ``set -e`` applies.
    ends_list: bool
    redirection: Redirection | None = None


def parse_script(text: str, variables: Mapping[str, str]) -> list[SimpleCommand]:
    """Split a script into simple commands, with variables replaced. Raises UnsupportedScriptError."""
    commands: list[SimpleCommand] = []
    operator, at = ";", 0
    while at < len(text):
        words, redirection, at = _words(text, at, variables)
        match = _OPERATOR.match(text, at)
        following = match[0].replace("\n", ";") if match else ";"
        if match:
            at = match.end()
        elif at < len(text):
            raise UnsupportedScriptError
        if words:
            commands.append(SimpleCommand(operator, words, following == ";", redirection))
            operator = following
        elif following != ";" or redirection is not None:
            raise UnsupportedScriptError
    if operator != ";":
        raise UnsupportedScriptError
    return commands


def _words(text: str, at: int, variables: Mapping[str, str]) -> tuple[list[str], Redirection | None, int]:
    """Return the words and the redirection up to an operator, and its position."""
    words: list[str] = []
    redirection: Redirection | None = None
    while at < len(text):
        if text[at] in _BLANKS:
            at += 1
        elif _OPERATOR.match(text, at):
            break
        elif match := _REDIRECTION.match(text, at):
            path, at = _word(text, match.end(), variables)
            if not path or redirection is not None:
                raise UnsupportedScriptError
            redirection = Redirection(path, appends=match[1] == ">>")
        else:
            word, at = _word(text, at, variables)
            words.append(word)
    return words, redirection, at


def _word(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    word = ""
    while at < len(text) and text[at] not in _BLANKS and text[at] != ">" and not _OPERATOR.match(text, at):
        if text[at] == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise UnsupportedScriptError
            word, at = word + text[at + 1 : end], end + 1
        elif text[at] == '"':
            part, at = _double_quoted(text, at + 1, variables)
            word += part
        elif text[at] == "$":
            value, at = _variable(text, at, variables)
            if not _BARE.fullmatch(value):  # the value would be split into several words or none
                raise UnsupportedScriptError
            word += value
        elif match := _BARE.match(text, at):
            word, at = word + match[0], match.end()
        else:
            raise UnsupportedScriptError
    if text[at : at + 1] == ">" and word.isdigit():  # the number of a file
        raise UnsupportedScriptError
    return word, at


def _double_quoted(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    word = ""
    while at < len(text):
        sign = text[at]
        if sign == '"':
            return word, at + 1
        if sign == "`":
            break
        if sign == "$" and text[at + 1 : at + 2] not in ("", " ", '"'):
            value, at = _variable(text, at, variables)
            word += value
        elif sign == "\\" and text[at + 1 : at + 2] in _ESCAPABLE:
            word, at = word + text[at + 1 : at + 2], at + 2
        else:
            word, at = word + sign, at + 1
    raise UnsupportedScriptError


def _variable(text: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    match = _VARIABLE.match(text, at)
    value = variables.get(match[1] or match[2]) if match else None
    if match is None or value is None:
        raise UnsupportedScriptError
    return value, match.end()
