"""Text form of label selectors: ``app=web,tier!=db,env in (a,b),!old,size>3``.

Grammar and messages are those of kube-apiserver's parser, which reads one token ahead.
"""

from __future__ import annotations

import re
from typing import Final

from steersman.apimachinery.selectors.labels import (
    BINARY_OPERATORS,
    EVERYTHING,
    LabelSelector,
    Operator,
    Requirement,
    SelectorError,
    check_key,
    requirement,
)
from steersman.apimachinery.text_cache import text_cache
from steersman.apimachinery.workmeter import spend

_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),><]|[^ \t\r\n=!(),><]+)")
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", ">", "<"})
_OPERATORS: Final = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
#: Work to parse a requirement, for the meter.
_UNITS_PER_REQUIREMENT: Final = 16
#: Token at the end of the text; no other token is empty.
_END: Final = ""


@text_cache(512, length_max=2048)
def parse_label_selector(text: str) -> LabelSelector:
    """Parse a label selector; an empty text matches everything. Raises ``SelectorError``."""
    parser = _Parser(text)
    requirements = parser.requirements()
    return LabelSelector(requirements) if requirements else EVERYTHING


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), _END]
        self._at = 0

    def _next(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        symbol = self._tokens[self._at]
        if symbol != _END:
            self._at += 1
        return symbol

    def requirements(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while self._next() != _END:
            spend(_UNITS_PER_REQUIREMENT)
            if not (_is_word(self._next()) or self._next() == "!"):
                raise SelectorError(f"found '{self._next()}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            self._after_requirement()
        return requirements

    def _after_requirement(self) -> None:
        symbol = self._take()
        if symbol == ",":
            if not (_is_word(self._next()) or self._next() == "!"):
                raise SelectorError(f"found '{self._next()}', expected: identifier after ','")
        elif symbol != _END:
            raise SelectorError(f"found '{symbol}', expected: ',' or 'end of string'")

    def _requirement(self) -> Requirement:
        symbol = self._take()
        absent = symbol == "!"
        if absent:
            symbol = self._take()
        if not _is_word(symbol):
            raise SelectorError(f"found '{symbol}', expected: identifier")
        check_key(symbol)
        if absent:
            return requirement(symbol, Operator.DOES_NOT_EXIST)
        if self._next() in (_END, ","):
            return requirement(symbol, Operator.EXISTS)
        operator = self._operator()
        values = self._set() if operator in (Operator.IN, Operator.NOT_IN) else {self._value()}
        return requirement(symbol, operator, values)

    def _operator(self) -> Operator:
        symbol = self._take()
        if symbol not in _OPERATORS:
            raise SelectorError(f"found '{symbol}', expected: {', '.join(BINARY_OPERATORS)}")
        return _OPERATORS[symbol]

    def _value(self) -> str:
        """Parse one value; empty if there is none."""
        if self._next() in (_END, ","):
            return ""
        symbol = self._take()
        if not _is_word(symbol):
            raise SelectorError(f"found '{symbol}', expected: identifier")
        return symbol

    def _set(self) -> set[str]:
        """Parse values in brackets; an empty value between two commas, or a comma and a bracket, is accepted."""
        symbol = self._take()
        if symbol != "(":
            raise SelectorError(f"found '{symbol}' expected: '('")
        symbol = self._next()
        if symbol == ")":
            self._take()
            return {""}
        if not (_is_word(symbol) or symbol == ","):
            raise SelectorError(f"found '{symbol}', expected: ',', ')' or identifier")
        values = self._members()
        self._take()
        return values

    def _members(self) -> set[str]:
        """Parse up to the closing bracket, which is not consumed."""
        values: set[str] = set()
        while True:
            symbol = self._take()
            if _is_word(symbol):
                values.add(symbol)
                if self._next() == ")":
                    return values
                if self._next() != ",":
                    raise SelectorError(f"found '{self._next()}', expected: ',' or ')'")
            elif symbol == ",":
                if not values or self._next() in (",", ")"):
                    values.add("")
                if self._next() == ")":
                    return values
                if self._next() == ",":
                    self._take()
            else:
                raise SelectorError(f"found '{symbol}', expected: ',', or identifier")


def _is_word(symbol: str) -> bool:
    return symbol != _END and symbol not in _SYMBOLS
