"""Recursive descent parser. Syntax errors are reported by ``recovery``, which parses the text again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.cel import tokens as t
from steersman.cel.ast import (
    Call,
    Entry,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    ObjectNode,
    Select,
)
from steersman.cel.literals import READERS, LiteralError
from steersman.cel.macros import expand
from steersman.cel.source import SIZE_MAX, CompileError, Issue, Source
from steersman.cel.tokens import NAMES, TYPE, Token, Unreadable, tokenize
from steersman.cel.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Maximum nesting; must stay below Python's recursion limit for any caller.
DEPTH_MAX: Final = 64

#: Operator precedences.
_LEVELS: Final = {
    TYPE[f"'{sign}'"]: level
    for level, signs in ((1, ("<", "<=", ">=", ">", "==", "!=", "in")), (2, "+-"), (3, "*/%"))
    for sign in signs
}
_OR, _AND, _ASK, _COLON, _COMMA = (TYPE[f"'{sign}'"] for sign in ("||", "&&", "?", ":", ","))
_LPAREN, _RPAREN, _LBRACKET, _RBRACKET = (TYPE[f"'{sign}'"] for sign in "()[]")
_LBRACE, _RBRACE, _DOT, _MINUS, _NOT = (TYPE[f"'{sign}'"] for sign in "{}.-!")
_CONSTANTS: Final = {TYPE["'true'"]: True, TYPE["'false'"]: False, TYPE["'null'"]: None}
_LITERALS: Final = frozenset((t.NUM_INT, t.NUM_UINT, t.NUM_FLOAT, t.STRING, t.BYTES))
_SIGNED: Final = (t.NUM_INT, t.NUM_FLOAT)


class _SyntaxError(Exception):
    """The text is not valid CEL; ``recovery`` determines the error positions."""


def parse(text: str) -> tuple[Node, Source]:
    """Parse an expression. Raises CompileError."""
    source = Source(text)
    if len(text) > SIZE_MAX:
        issue = Issue(-1, f"expression code point size exceeds limit: size: {len(text)}, limit {SIZE_MAX}")
        raise CompileError(source, [issue])
    tokens, unreadable = tokenize(text)
    issues = [part.issue(text) for part in unreadable]
    parser = _Parser(tokens)
    try:
        tree = parser.whole()
    except _SyntaxError:
        issues = sorted([*issues, *_explain(text, tokens, unreadable)], key=lambda issue: issue.position)
        raise CompileError(source, issues) from None
    except RecursionError:
        issues.append(Issue(-1, f"expression recursion limit exceeded: {DEPTH_MAX}"))
        raise CompileError(source, issues) from None
    issues += parser.issues
    if issues:
        raise CompileError(source, issues)
    return tree, source


def _explain(text: str, tokens: Sequence[Token], unreadable: Sequence[Unreadable]) -> list[Issue]:
    from steersman.cel.recovery import explain  # noqa: PLC0415 — tables that only faults need

    return explain(text, tokens, unreadable)


def _depth(node: Node) -> int:
    """Return the depth of a tree, without recursion."""
    deepest, waiting = 0, [(node, 1)]
    while waiting:
        parent, level = waiting.pop()
        deepest = max(deepest, level)
        waiting.extend((below, level + 1) for below in parent.children())
    return deepest


class _Parser:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens: Final = tokens
        self._place = 0
        self._depth = 0
        self.issues: list[Issue] = []

    def whole(self) -> Node:
        tree = self._expression()
        self._take(t.EOF)
        # A chain of binary operators is deep without any parentheses.
        if _depth(tree) > 3 * DEPTH_MAX:
            raise RecursionError
        return tree

    def _peek(self, ahead: int = 0) -> int:
        place = self._place + ahead
        return self._tokens[place].type if place < len(self._tokens) else t.EOF

    def _next(self) -> Token:
        token = self._tokens[self._place]
        self._place += 1
        return token

    def _take(self, type_: int) -> Token:
        if self._peek() != type_:
            raise _SyntaxError
        return self._next() if type_ != t.EOF else self._tokens[-1]

    def _skip(self, type_: int) -> bool:
        if self._peek() != type_:
            return False
        self._place += 1
        return True

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise RecursionError
        result = self._logical(_OR)
        if self._peek() == _ASK:
            sign = self._next()
            yes = self._logical(_OR)
            self._take(_COLON)
            result = Call(sign.position, "_?_:_", (result, yes, self._expression()))
        self._depth -= 1
        return result

    def _logical(self, type_: int) -> Node:
        terms, signs = [self._logical(_AND) if type_ == _OR else self._binary(1)], []
        while self._peek() == type_:
            signs.append(self._next().position)
            terms.append(self._logical(_AND) if type_ == _OR else self._binary(1))
        return _balanced(terms, signs, "_||_" if type_ == _OR else "_&&_")

    def _binary(self, least: int) -> Node:
        """Parse relations, sums and products by precedence climbing."""
        left = self._unary()
        while (level := _LEVELS.get(self._peek(), 0)) >= least:
            sign = self._next()
            function = "@in" if sign.text == "in" else f"_{sign.text}_"
            left = Call(sign.position, function, (left, self._binary(level + 1)))
        return left

    def _unary(self) -> Node:
        first = self._peek()
        if first == _MINUS and self._peek(1) in _SIGNED:
            return self._member()
        if first not in (_MINUS, _NOT):
            return self._member()
        begin, count = self._tokens[self._place].position, 0
        while self._skip(first):
            count += 1
        operand = self._member()
        if count % 2 == 0:
            return operand
        return Call(begin, "-_" if first == _MINUS else "!_", (operand,))

    def _member(self) -> Node:
        node = self._primary()
        while True:
            type_ = self._peek()
            if type_ == _DOT:
                node = self._dotted(node)
            elif type_ == _LBRACKET:
                sign = self._next()
                function = "_[?_]" if self._skip(_ASK) else "_[_]"
                index = self._expression()
                self._take(_RBRACKET)
                node = Call(sign.position, function, (node, index))
            else:
                return node

    def _dotted(self, target: Node) -> Node:
        dot = self._next()
        optional = self._skip(_ASK)
        name = self._field_name()
        if optional or self._peek() != _LPAREN:
            return Select(dot.position, target, name, optional=optional)
        sign = self._next()
        args = self._arguments()
        return expand(Call(sign.position, name, args, target), self.issues)

    def _field_name(self) -> str:
        if self._peek() == t.ESC_IDENTIFIER:
            token = self._next()
            self.issues.append(Issue(token.position, "unsupported syntax: '`'"))
            return token.text.strip("`")
        return self._take(t.IDENTIFIER).text

    def _arguments(self) -> list[Node]:
        args: list[Node] = []
        if self._peek() != _RPAREN:
            args.append(self._expression())
            while self._skip(_COMMA):
                args.append(self._expression())
        self._take(_RPAREN)
        return args

    def _primary(self) -> Node:
        token = self._tokens[self._place]
        type_ = token.type
        if type_ in _LITERALS or type_ == _MINUS:
            return self._literal()
        if type_ in _CONSTANTS:
            self._place += 1
            return Literal(token.position, _CONSTANTS[type_])
        if type_ in (_DOT, t.IDENTIFIER):
            return self._named()
        if type_ == _LPAREN:
            self._place += 1
            inner = self._expression()
            self._take(_RPAREN)
            return inner
        if type_ == _LBRACKET:
            return self._list()
        if type_ == _LBRACE:
            return self._map()
        raise _SyntaxError

    def _literal(self) -> Node:
        token = self._next()
        begin, sign = token.position, ""
        if token.type == _MINUS:
            sign, token = "-", self._next()
            if token.type not in _SIGNED:
                raise _SyntaxError
        try:
            return Literal(begin, READERS[NAMES[token.type]](sign + token.text))
        except LiteralError as fault:
            self.issues.append(Issue(begin, str(fault)))
            return Literal(begin, None)

    def _named(self) -> Node:
        begin = self._tokens[self._place].position
        dot = "." if self._skip(_DOT) else ""
        message = self._message_name()
        if message is not None:
            return message
        token = self._take(t.IDENTIFIER)
        name = dot + token.text
        if name in RESERVED:
            self.issues.append(Issue(begin, f"reserved identifier: {name}"))
        if self._peek() != _LPAREN:
            return Ident(token.position, name)
        sign = self._next()
        return expand(Call(sign.position, name, self._arguments()), self.issues)

    def _message_name(self) -> Node | None:
        """Parse ``a.b.C`` before ``{``; None for other expressions."""
        place = self._place
        while self._peek() == t.IDENTIFIER:
            self._place += 1
            if self._peek() == _LBRACE:
                dot = "." if place and self._tokens[place - 1].type == _DOT else ""
                name = dot + "".join(token.text for token in self._tokens[place : self._place])
                return self._object(name)
            if not self._skip(_DOT):
                break
        self._place = place
        return None

    def _object(self, name: str) -> Node:
        sign = self._next()
        return ObjectNode(sign.position, name.lstrip("."), self._entries(self._field_name))

    def _list(self) -> Node:
        sign = self._next()
        items: list[Node] = []
        optional: set[int] = set()
        if self._peek(1) == _RBRACKET:
            self._skip(_COMMA)
        while self._peek() != _RBRACKET:
            if self._skip(_ASK):
                optional.add(len(items))
            items.append(self._expression())
            if not self._skip(_COMMA):
                break
        self._take(_RBRACKET)
        return ListNode(sign.position, items, frozenset(optional))

    def _map(self) -> Node:
        sign = self._next()
        return MapNode(sign.position, self._entries(self._expression))

    def _entries(self, read_key: Callable[[], Node | str]) -> list[Entry]:
        """Parse the entries of an object or a map up to its closing brace."""
        entries: list[Entry] = []
        if self._peek(1) == _RBRACE:
            self._skip(_COMMA)
        while self._peek() != _RBRACE:
            optional = self._skip(_ASK)
            key = read_key()
            colon = self._take(_COLON)
            entries.append(Entry(colon.position, key, self._expression(), optional=optional))
            if not self._skip(_COMMA):
                break
        self._take(_RBRACE)
        return entries


def _balanced(terms: Sequence[Node], signs: Sequence[int], function: str) -> Node:
    """Return a chain of ``&&`` or ``||`` as a tree of logarithmic depth, as cel-go does."""
    if not signs:
        return terms[0]
    middle = len(signs) // 2
    left = _balanced(terms[: middle + 1], signs[:middle], function)
    right = _balanced(terms[middle + 1 :], signs[middle + 1 :], function)
    return Call(signs[middle], function, (left, right))
