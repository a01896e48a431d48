"""Syntax errors of an invalid text, with ANTLR's error recovery (``DefaultErrorStrategy``) and messages."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.cel.atn import EPSILON, Alt, Network, Part, Pred, Ref, Repeat, Seq, Tok, network, show_tokens
from steersman.cel.prediction import predict
from steersman.cel.source import Issue
from steersman.cel.tokens import EOF, NAMES, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.cel.tokens import Token, Unreadable

#: Longer texts report only their first error.
_TOKENS_MAX: Final = 5000
#: Maximum number of recoveries.
_ATTEMPTS_MAX: Final = 30
_RESERVED_FIELD: Final = re.compile(r"no viable alternative at input '.(true|false|null)'")


class _RecognitionError(Exception):
    """The parser cannot continue in this rule."""


class _NoAlternativeError(_RecognitionError):
    def __init__(self, begin: int, offending: int) -> None:
        super().__init__()
        self.begin: Final = begin
        self.offending: Final = offending


class _MismatchError(_RecognitionError):
    def __init__(self, state: int) -> None:
        super().__init__()
        self.state: Final = state


class _Frame(NamedTuple):
    """An active rule invocation."""

    #: Follow state of the caller; -1 for the first rule.
    after: int
    precedence: int


def explain(
    text: str, tokens: Sequence[Token], unreadable: Sequence[Unreadable] = (), *, net: Network | None = None
) -> list[Issue]:
    """Return the syntax errors of a text, at least one. ``net`` defaults to the shared network."""
    parser = _Parser(text, tokens, unreadable, net=net or network())
    with suppress(_GaveUpError, RecursionError):
        parser.rule("start", _Frame(-1, 0))
    if not parser.issues:
        parser.issues.append(Issue(tokens[-1].position, "Syntax error: mismatched input '<EOF>'"))
    return parser.issues


class _GaveUpError(Exception):
    """The text is too long or needs too many recoveries."""


class _Parser:
    def __init__(self, text: str, tokens: Sequence[Token], unreadable: Sequence[Unreadable], *, net: Network) -> None:
        self._text: Final = text
        self._unreadable: Final = unreadable
        self._tokens: Final = tokens
        self._types: Final = [token.type for token in tokens]
        self._net: Final = net
        self._frames: list[_Frame] = []
        self._place = 0
        self._state = 0
        self._recovering = False
        self._last_fault = -1
        self._fault_states: set[int] = set()
        self._attempts = 0
        self.issues: list[Issue] = []

    # Reporting

    def _report_error(self, token: Token, message: str) -> None:
        if self._recovering:
            return
        self._recovering = True
        message = _RESERVED_FIELD.sub(r"mismatched input '\1' expecting IDENTIFIER", message)
        self.issues.append(Issue(token.position, f"Syntax error: {message}"))
        if len(self._tokens) > _TOKENS_MAX:
            raise _GaveUpError

    def _report(self, fault: _RecognitionError) -> None:
        if isinstance(fault, _NoAlternativeError):
            begin, offending = self._tokens[fault.begin], self._tokens[fault.offending]
            text = self._between(fault.begin, fault.offending) if begin.type != EOF else "<EOF>"
            self._report_error(offending, f"no viable alternative at input '{escape(text)}'")
        elif isinstance(fault, _MismatchError):
            expected = show_tokens(self._expected(fault.state), NAMES)
            token = self._current
            self._report_error(token, f"mismatched input {_display(token)} expecting {expected}")

    def _between(self, begin: int, end: int) -> str:
        """Return the source text of a token range."""
        first, last = self._tokens[begin], self._tokens[end]
        stop = last.position + (0 if last.type == EOF else len(last.text))
        parts: list[str] = []
        place = first.position
        for part in self._unreadable:
            if place <= part.begin < stop:
                parts.append(self._text[place : part.begin])
                place = part.end
        return "".join((*parts, self._text[place:stop]))

    # Tokens

    @property
    def _current(self) -> Token:
        return self._tokens[self._place]

    def _ahead(self, count: int) -> int:
        place = self._place + count - 1
        return self._types[place] if place < len(self._types) else EOF

    def _consume(self) -> None:
        if self._current.type != EOF:
            self._place += 1

    def _expected(self, state: int) -> set[int]:
        """Return the tokens that can follow, given the active rules."""
        following = self._net.look(state)
        expected = set(following)
        for frame in reversed(self._frames):
            if EPSILON not in following or frame.after < 0:
                break
            following = self._net.look(frame.after)
            expected |= following
        expected.discard(EPSILON)
        if EPSILON in following:
            expected.add(EOF)
        return expected

    # Recovery (``DefaultErrorStrategy``)

    def _resync(self) -> set[int]:
        """Return the tokens at which an active rule could continue."""
        tokens: set[int] = set()
        for frame in self._frames:
            if frame.after >= 0:
                tokens |= self._net.look(frame.after)
        tokens.discard(EPSILON)
        return tokens

    def _skip_to(self, types: set[int]) -> None:
        while self._current.type != EOF and self._current.type not in types:
            self._consume()

    def _recover(self) -> None:
        self._attempts += 1
        if self._attempts > _ATTEMPTS_MAX:
            raise _GaveUpError
        if self._last_fault == self._place and self._state in self._fault_states:
            self._consume()
        if self._last_fault != self._place:
            self._fault_states = set()
        self._last_fault = self._place
        self._fault_states.add(self._state)
        self._skip_to(self._resync())

    def _report_unwanted_token(self) -> None:
        token = self._current
        expected = show_tokens(self._expected(self._state), NAMES)
        self._report_error(token, f"extraneous input {_display(token)} expecting {expected}")

    def _delete_one(self) -> bool:
        """Skip the current token if the next one fits (single token deletion); report success."""
        if self._ahead(2) not in self._expected(self._state):
            return False
        self._report_unwanted_token()
        self._consume()
        self._recovering = False
        return True

    def _insert_one(self) -> bool:
        """Report whether parsing can continue as if the missing token were present (single token insertion)."""
        _, after = self._net.taking[self._state]
        if self._ahead(1) not in self._expected(after):
            return False
        token = self._current
        expected = show_tokens(self._expected(self._state), NAMES)
        self._report_error(token, f"missing {expected} at {_display(token)}")
        return True

    def _sync(self, state: int, *, looping: bool = False) -> None:
        """Check before a decision whether the current token fits."""
        self._state = state
        if self._recovering:
            return
        following = self._net.look(state)
        if EPSILON in following or self._ahead(1) in following:
            return
        if looping:
            self._report_unwanted_token()
            self._skip_to(self._expected(state) | self._resync())
        elif not self._delete_one():
            raise _MismatchError(state)

    # The rules

    def rule(self, name: str, frame: _Frame) -> None:
        """Parse a rule; report errors and resume after it."""
        self._frames.append(frame)
        try:
            self._read(self._net.rules[name])
        except _RecognitionError as fault:
            self._report(fault)
            self._recover()
        finally:
            self._frames.pop()

    def _read(self, part: Part) -> None:
        match part:
            case Seq():
                for inner in part.parts:
                    self._read(inner)
            case Tok():
                self._match(part)
            case Ref():
                self._state = part.state
                self.rule(part.name, _Frame(self._net.calls[part.state][1], part.precedence))
            case Alt():
                self._sync(part.state)
                self._read(part.parts[self._choose(part, part.state)])
            case Repeat():
                self._repeat(part)
            case Pred():
                self._state = part.state

    def _match(self, part: Tok) -> None:
        self._state = part.state
        if self._current.type in part.types:
            self._recovering = False
            self._consume()
        elif self._delete_one():
            self._consume()
        elif not self._insert_one():
            raise _MismatchError(part.state)

    def _repeat(self, part: Repeat) -> None:
        if part.least:
            while True:
                self._read(part.body)
                self._sync(part.back, looping=True)
                if self._choose(part, part.back) != 0:
                    return
        self._sync(part.state)
        state = part.state
        while self._choose(part, state) == 0:
            self._read(part.body)
            if part.once:
                return
            state = part.back
            self._sync(state, looping=True)

    def _choose(self, part: Alt | Repeat, state: int) -> int:
        if part.ll1 is not None:
            for choice, types in enumerate(part.ll1):
                if self._ahead(1) in types:
                    return choice
            if isinstance(part, Repeat):
                return 1
            raise _NoAlternativeError(self._place, self._place)
        choice, offending = predict(self._net, state, self._types, self._place, self._frames[-1].precedence)
        if choice < 0:
            raise _NoAlternativeError(self._place, offending)
        return choice


def _display(token: Token) -> str:
    return f"'{escape(token.text)}'"
