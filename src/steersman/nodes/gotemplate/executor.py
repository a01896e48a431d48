"""Compiled templates: steps write text, expressions return values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.trees import copy_tree
from steersman.nodes.gotemplate.errors import TemplateRenderError
from steersman.nodes.gotemplate.values import NUMBER_METHODS, is_true, pairs, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    #: Write text for the value of the dot.
    Step = Callable[["Frame", Any], None]
    #: Return a value.
    Expression = Callable[["Frame", Any], Any]

#: Maximum nesting of template invocations.
_DEPTH_MAX: Final = 100
#: Maximum number of iterations and invocations in one run.
_STEPS_MAX: Final = 20_000
#: Maximum output of one run in characters, and size of a function's result.
_SIZE_MAX: Final = 1_000_000


class Body:
    """A template or nested definition: its steps and number of variables."""

    __slots__ = ("slots", "steps")

    def __init__(self) -> None:
        self.steps: Sequence[Step] = ()
        #: Number of variables; the first is ``$``.
        self.slots = 1


class Output:
    """Output of a run, with its limits."""

    __slots__ = ("parts", "size_left", "steps_left")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size_left = _SIZE_MAX
        self.steps_left = _STEPS_MAX

    def write(self, text: str) -> None:
        """Append text. Raises TemplateRenderError if the output is too large."""
        self.size_left -= len(text)
        if self.size_left < 0:
            raise TemplateRenderError("the template writes too much text")
        self.parts.append(text)

    def count_step(self) -> None:
        """Count an iteration or invocation. Raises TemplateRenderError if there are too many."""
        self.steps_left -= 1
        if self.steps_left < 0:
            raise TemplateRenderError("the template takes too many steps")


class Frame:
    """One execution of a body."""

    __slots__ = ("context", "depth", "out", "slots")

    def __init__(self, body: Body, data: Any, out: Output, context: Mapping[str, Any], depth: int) -> None:
        self.slots = [data, *[None] * (body.slots - 1)]
        self.out = out
        self.context = context
        self.depth = depth


class Template:
    """A parsed template."""

    def __init__(self, body: Body, *, mutates_data: bool = False) -> None:
        self._body = body
        self._mutates_data = mutates_data

    def render(self, data: Any, context: Mapping[str, Callable[..., Any]]) -> str:
        """Return the text. ``context`` has the functions named when parsing. Raises TemplateRenderError."""
        if self._mutates_data:  # the data is shared, e.g. with an informer's store
            data = copy_tree(data)
        out = Output()
        frame = Frame(self._body, data, out, context, 0)
        try:
            for step in self._body.steps:
                step(frame, data)
        except RecursionError:
            raise TemplateRenderError("templates or values are nested too deeply") from None
        return "".join(out.parts)


class _BreakError(Exception):
    """``{{ break }}``."""


class _ContinueError(Exception):
    """``{{ continue }}``."""


# Steps


def copied(text: str) -> Step:
    """Return a step that writes literal text."""

    def step(frame: Frame, _dot: Any) -> None:
        frame.out.write(text)

    return step


def written(expression: Expression) -> Step:
    """Return a step that writes a value."""

    def step(frame: Frame, dot: Any) -> None:
        frame.out.write(text_of(expression(frame, dot)))

    return step


def evaluated(expression: Expression) -> Step:
    """Return a step that evaluates an assignment without output."""

    def step(frame: Frame, dot: Any) -> None:
        expression(frame, dot)

    return step


def chosen(condition: Expression, then: Sequence[Step], otherwise: Sequence[Step], *, with_dot: bool) -> Step:
    """Return a step for ``if``, or for ``with``, which sets the dot."""

    def step(frame: Frame, dot: Any) -> None:
        value = condition(frame, dot)
        if is_true(value):
            inner = value if with_dot else dot
            for step in then:
                step(frame, inner)
        else:
            for step in otherwise:
                step(frame, dot)

    return step


def repeated(over: Expression, variables: tuple[int, ...], steps: Sequence[Step], otherwise: Sequence[Step]) -> Step:
    """Return a step for ``range``: one variable is the item; of two, the first is the index or key."""

    def step(frame: Frame, dot: Any) -> None:
        items = pairs(over(frame, dot))
        for key, item in items:
            frame.out.count_step()
            if variables:
                frame.slots[variables[-1]] = item
            if len(variables) > 1:
                frame.slots[variables[0]] = key
            try:
                for step in steps:
                    step(frame, item)
            except _BreakError:
                break
            except _ContinueError:
                continue
        if not items:
            for step in otherwise:
                step(frame, dot)

    return step


def breaking(_frame: Frame, _dot: Any) -> None:
    """Run ``{{ break }}``."""
    raise _BreakError


def continuing(_frame: Frame, _dot: Any) -> None:
    """Run ``{{ continue }}``."""
    raise _ContinueError


def invoked(bodies: Mapping[str, Body], name: str, argument: Expression) -> Step:
    """Return a step for ``{{ template "name" value }}``."""

    def step(frame: Frame, dot: Any) -> None:
        if frame.depth >= _DEPTH_MAX:
            raise TemplateRenderError(f"templates call each other without an end: {name!r}")
        frame.out.count_step()
        body, data = bodies[name], argument(frame, dot)
        inner = Frame(body, data, frame.out, frame.context, frame.depth + 1)
        for step in body.steps:
            step(inner, data)

    return step


# Expressions


def constant(value: Any) -> Expression:
    """Return an expression for a constant."""
    return lambda _frame, _dot: value


def the_dot(_frame: Frame, dot: Any) -> Any:
    """Evaluate ``.``."""
    return dot


def variable(slot: int) -> Expression:
    """Return an expression for ``$name``."""
    return lambda frame, _dot: frame.slots[slot]


def assigned(slot: int, expression: Expression) -> Expression:
    """Return an expression for ``$name := value`` and ``$name = value``."""

    def assign(frame: Frame, dot: Any) -> Any:
        value = frame.slots[slot] = expression(frame, dot)
        return value

    return assign


def field(of: Expression, name: str) -> Expression:
    """Return an expression for ``value.name``; nil if missing. Numbers have the methods of Go's ``json.Number``."""

    def find(frame: Frame, dot: Any) -> Any:
        value = of(frame, dot)
        if value is None:
            return None
        if isinstance(value, dict):
            return value.get(name)
        if name in NUMBER_METHODS and isinstance(value, int | float) and not isinstance(value, bool):
            return NUMBER_METHODS[name](value)
        raise TemplateRenderError(f"can't evaluate field {name} in {text_of(value)!r}")

    return find


def called(name: str, function: Callable[..., Any] | None, arguments: Sequence[Expression]) -> Expression:
    """Return an expression that calls a function; None for the function of the context."""

    def call(frame: Frame, dot: Any) -> Any:
        values = [argument(frame, dot) for argument in arguments]
        try:
            result = (function or frame.context[name])(*values)
        except TemplateRenderError:
            raise
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, re.error) as error:
            raise TemplateRenderError(f"error calling {name}: {error}") from None
        if isinstance(result, str | list) and len(result) > _SIZE_MAX:
            raise TemplateRenderError(f"error calling {name}: the result is too long")
        return result

    return call


def first_that(holds: bool, arguments: Sequence[Expression]) -> Expression:  # noqa: FBT001 — which of the two it is
    """Return an expression for ``or`` and ``and``: the first true or false argument, otherwise the last, evaluated
    lazily.
    """

    def find(frame: Frame, dot: Any) -> Any:
        value: Any = None
        for argument in arguments:
            value = argument(frame, dot)
            if is_true(value) is holds:
                break
        return value

    return find
