"""Parser of templates: compiles the text to steps and expressions of ``executor``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import decode_json
from steersman.nodes.gotemplate import executor
from steersman.nodes.gotemplate.errors import TemplateSyntaxError
from steersman.nodes.gotemplate.executor import Body, Template
from steersman.nodes.gotemplate.functions import FUNCTIONS
from steersman.nodes.gotemplate.lexer import Token, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from steersman.nodes.gotemplate.executor import Expression, Step

_CONSTANTS: Final = {"true": True, "false": False, "nil": None}
_ENDS: Final = ("end", "else")
_END: Final = Token("none", "", spaced=False)


def parse(text: str, context: Collection[str] = ()) -> Template:
    """Parse a template that may use ``FUNCTIONS`` and the functions named in ``context``, which each run provides.

    Raises TemplateSyntaxError.
    """
    try:
        return _Parser(text, context).template()
    except RecursionError:
        raise TemplateSyntaxError("blocks or parentheses are nested too deeply") from None


class _Parser:
    def __init__(self, text: str, context: Collection[str]) -> None:
        self._pieces = list(scan(text))
        self._context = context
        self._next_piece = 0
        self._line = 1
        self._tokens: tuple[Token, ...] = ()
        self._at = 0
        self._bodies: dict[str, Body] = {}
        #: Invoked templates and the lines of their invocations.
        self._invocations: list[tuple[str, int]] = []
        self._body = Body()
        self._names: list[tuple[str, int]] = [("$", 0)]
        self._loops = 0
        #: True if a function that modifies its argument is called.
        self._mutates_data = False

    def template(self) -> Template:
        body = self._body
        steps, end = self._steps()
        if end:
            raise self._fault(f"unexpected {{{{{end}}}}}")
        body.steps = steps
        for name, line in self._invocations:
            if name not in self._bodies:
                raise TemplateSyntaxError(f'line {line}: template "{name}" not defined')
        return Template(body, mutates_data=self._mutates_data)

    def _number(self, text: str) -> float | int:
        try:
            return float(text) if "." in text else int(text)
        except ValueError:  # more digits than Python converts
            raise self._fault(f"illegal number syntax: {text[:20]}…") from None

    def _fault(self, message: str) -> TemplateSyntaxError:
        return TemplateSyntaxError(f"line {self._line}: {message}")

    # Words

    def _peek(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self, kind: str, *texts: str) -> Token | None:
        token = self._peek()
        if token.kind == kind and (not texts or token.text in texts):
            self._at += 1
            return token
        return None

    def _expect_end(self) -> None:
        if self._peek() is not _END:
            raise self._fault(f"unexpected {self._peek().text!r}")

    # Steps

    def _steps(self) -> tuple[list[Step], str]:
        """Return the steps up to ``end``, ``else`` or the end of the text, and which of these follows."""
        steps: list[Step] = []
        while self._next_piece < len(self._pieces):
            piece = self._pieces[self._next_piece]
            self._next_piece += 1
            self._line = piece.line
            if piece.tokens is None:
                steps.append(executor.copied(piece.text))
                continue
            self._tokens, self._at = piece.tokens, 0
            if (word := self._take("word", *_ENDS)) is not None:
                return steps, word.text
            step = self._action()
            if step is not None:
                steps.append(step)
        return steps, ""

    def _action(self) -> Step | None:
        word = self._peek().text if self._peek().kind == "word" else ""
        actions: dict[str, Callable[[], Step | None]] = {
            "if": lambda: self._choice(with_dot=False),
            "with": lambda: self._choice(with_dot=True),
            "range": self._range,
            "define": self._define,
            "block": self._block,
            "template": self._invoke,
            "break": lambda: self._leave(executor.breaking),
            "continue": lambda: self._leave(executor.continuing),
        }
        if word in actions:
            self._at += 1
            return actions[word]()
        is_assignment = self._peek().kind == "variable" and self._is_assigned()
        expression = self._pipeline()
        self._expect_end()
        return executor.evaluated(expression) if is_assignment else executor.written(expression)

    def _is_assigned(self) -> bool:
        following = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else _END
        return following.text in (":=", "=")

    def _choice(self, *, with_dot: bool) -> Step:
        visible_names, line = len(self._names), self._line
        condition = self._pipeline()
        self._expect_end()
        then, end = self._steps()
        otherwise: Sequence[Step] = ()
        if end == "else":
            otherwise, end = self._otherwise()
        self._close(end, line)
        del self._names[visible_names:]
        return executor.chosen(condition, then, otherwise, with_dot=with_dot)

    def _otherwise(self) -> tuple[Sequence[Step], str]:
        if (word := self._take("word", "if", "with")) is not None:
            return [self._choice(with_dot=word.text == "with")], "end"  # one end closes both
        self._expect_end()
        return self._steps()

    def _close(self, end: str, line: int) -> None:
        if end != "end":
            raise TemplateSyntaxError(f"line {line}: this has no {{{{end}}}}")

    def _range(self) -> Step:
        visible_names, line = len(self._names), self._line
        variables = self._loop_variables()
        over = self._pipeline()
        self._expect_end()
        self._loops += 1
        steps, end = self._steps()
        self._loops -= 1
        otherwise: Sequence[Step] = ()
        if end == "else":
            self._expect_end()
            otherwise, end = self._steps()
        self._close(end, line)
        del self._names[visible_names:]
        return executor.repeated(over, variables, steps, otherwise)

    def _loop_variables(self) -> tuple[int, ...]:
        start, variable_names = self._at, []
        while (name := self._take("variable")) is not None:
            variable_names.append(name.text)
            self._take("sign", ",")
        if not variable_names or self._take("sign", ":=") is None:
            self._at = start
            return ()
        return tuple(self._declare(variable_name) for variable_name in variable_names[:2])

    def _leave(self, step: Step) -> Step:
        if not self._loops:
            raise self._fault("break and continue stand in a range only")
        self._expect_end()
        return step

    def _name(self) -> str:
        token = self._take("text") or self._take("raw")
        if token is None:
            raise self._fault("a template's name in quotes is missing")
        return _unquoted(token)

    def _define(self) -> None:
        name, line = self._name(), self._line
        self._expect_end()
        self._defined(name, line)

    def _defined(self, name: str, line: int) -> None:
        outer = self._body, self._names, self._loops
        self._body = self._bodies[name] = Body()
        self._names, self._loops = [("$", 0)], 0
        self._body.steps, end = self._steps()
        self._close(end, line)
        self._body, self._names, self._loops = outer

    def _invoke(self) -> Step:
        name = self._name()
        self._invocations.append((name, self._line))
        argument = executor.constant(None) if self._peek() is _END else self._pipeline()
        self._expect_end()
        return executor.invoked(self._bodies, name, argument)

    def _block(self) -> Step:
        name, line = self._name(), self._line
        argument = self._pipeline()
        self._expect_end()
        self._defined(name, line)
        return executor.invoked(self._bodies, name, argument)

    # Values

    def _declare(self, name: str) -> int:
        slot = self._body.slots
        self._body.slots += 1
        self._names.append((name, slot))
        return slot

    def _slot(self, name: str) -> int:
        for declared, slot in reversed(self._names):
            if declared == name:
                return slot
        raise self._fault(f"undefined variable {name!r}")

    def _pipeline(self) -> Expression:
        if self._peek().kind == "variable" and self._is_assigned():
            name = self._tokens[self._at].text
            sign = self._tokens[self._at + 1].text
            self._at += 2
            slot = self._slot(name) if sign == "=" else None
            value = self._pipeline()
            return executor.assigned(self._declare(name) if slot is None else slot, value)
        expression = self._command(None)
        while self._take("sign", "|"):
            expression = self._command(expression)
        return expression

    def _command(self, piped: Expression | None) -> Expression:
        """Return a value, or a function call; a piped value is its last argument."""
        word = self._take("word") if self._peek().text not in _CONSTANTS else None
        if word is not None:
            arguments = self._arguments()
            return self._call(word.text, [*arguments, piped] if piped else arguments)
        value = self._operand()
        if piped is not None or self._has_argument():
            raise self._fault("can't give an argument to what is no function")
        return value

    def _has_argument(self) -> bool:
        token = self._peek()
        return token is not _END and token.text not in ("|", ")")

    def _arguments(self) -> list[Expression]:
        arguments = []
        while self._has_argument():
            arguments.append(self._operand())
        return arguments

    def _call(self, name: str, arguments: Sequence[Expression]) -> Expression:
        if name in ("and", "or"):
            if not arguments:
                raise self._fault(f"wrong number of args for {name}: want at least 1 got 0")
            return executor.first_that(name == "or", arguments)
        if name in self._context:
            return executor.called(name, None, arguments)
        if name not in FUNCTIONS:
            raise self._fault(f'function "{name}" not defined')
        self._mutates_data |= name == "set"
        return executor.called(name, FUNCTIONS[name], arguments)

    def _operand(self) -> Expression:
        value = self._term()
        while self._peek().kind == "field" and not self._peek().spaced:
            value = executor.field(value, self._peek().text[1:])
            self._at += 1
        return value

    def _term(self) -> Expression:
        token = self._peek()
        self._at += 1
        match token.kind:
            case "field":
                return executor.field(executor.the_dot, token.text[1:])
            case "variable":
                return executor.variable(self._slot(token.text))
            case "text" | "raw":
                return executor.constant(_unquoted(token))
            case "number":
                return executor.constant(self._number(token.text))
            case "word" if token.text in _CONSTANTS:
                return executor.constant(_CONSTANTS[token.text])
            case "word":
                return self._call(token.text, ())
        if token.text == ".":
            return executor.the_dot
        if token.text == "(":
            value = self._pipeline()
            if self._take("sign", ")") is None:
                raise self._fault("unclosed left paren")
            return value
        raise self._fault(f"unexpected {token.text!r}" if token.text else "missing value for command")


def _unquoted(token: Token) -> str:
    if token.kind == "raw":
        return token.text[1:-1]
    try:
        return str(decode_json(token.text.encode()))
    except ValueError:
        raise TemplateSyntaxError(f"bad string {token.text}") from None
