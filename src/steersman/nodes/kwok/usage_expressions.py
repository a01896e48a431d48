"""CEL expressions about the usage of simulated pods: KWOK's functions and its ``Quantity``.

Beside the standard library: ``Quantity(text)`` with arithmetic, order and ``AsApproximateFloat64()``, ``Now()``,
``Rand()``, ``UnixSecond(timestamp)``, ``SinceSecond(object)``; in metrics also ``Usage``, ``CumulativeUsage``,
``Ready`` and ``RestartCount`` of pods and nodes. Each can also be called as a method of its first argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import quantity
from steersman.apimachinery.quantity import Quantity
from steersman.apimachinery.timestamps import parse_time
from steersman.cel import types as t
from steersman.cel.environment import kubernetes
from steersman.cel.functions import Function, Overload, member
from steersman.cel.library.quantities import QUANTITY, QuantityValue
from steersman.cel.program import compile_expression
from steersman.cel.source import CompileError
from steersman.cel.values import NANOS, EvalError, Timestamp
from steersman.nodes.node_object import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from random import Random

    from steersman.apimachinery.trees import Tree

    #: Return the usage by object, resource, and container (or an empty string).
    UsageFunction = Callable[[Tree, str, str], float]

_VARIABLES: Final = {"pod": t.DYN, "node": t.DYN, "container": t.DYN}


class UsageError(ValueError):
    """An expression has no value for an object; the message gives the reason."""


class Expressions:
    """Compiler and evaluator of expressions. ``at`` sets their current time."""

    def __init__(
        self, *, dice: Random, usage: UsageFunction | None = None, cumulative: UsageFunction | None = None
    ) -> None:
        self._dice = dice
        self._now: datetime | None = None
        functions = [*_quantities(), *self._time_functions()]
        if usage is not None and cumulative is not None:
            functions += [*_usages("Usage", usage), *_usages("CumulativeUsage", cumulative), *_containers()]
        self._environment = kubernetes().extended(variables=_VARIABLES, functions=functions)

    def compile(self, text: str) -> Callable[..., Any]:
        """Return a function of ``now`` and the variables. Raises TemplateError."""
        try:
            program = compile_expression(text, self._environment)
        except CompileError as error:
            raise TemplateError(f"expression {text!r}: {error}") from None

        def evaluate(now: datetime, **variables: Tree | None) -> Any:
            self._now = now
            values = {name: _as_declared(obj or {}) for name, obj in variables.items()}
            result = program.evaluate({name: {} for name in _VARIABLES} | values)
            if result.error is not None:
                raise UsageError(f"expression {text!r}: {result.error}")
            return result.value

        return evaluate

    def _time_functions(self) -> Iterator[Function]:
        def now() -> Timestamp:
            assert self._now is not None
            return Timestamp(int(self._now.timestamp() * NANOS))

        def since(obj: Any) -> float:
            assert self._now is not None
            created = (obj.get("metadata") or {}).get("creationTimestamp") if isinstance(obj, dict) else None
            if not isinstance(created, Timestamp):
                raise EvalError("the object has no creationTimestamp")
            return self._now.timestamp() - created.nanos / NANOS

        yield Function("Now", [Overload("kwok_now", [], t.TIMESTAMP, now)])
        yield Function("Rand", [Overload("kwok_rand", [], t.DOUBLE, self._dice.random)])
        yield _callable("SinceSecond", [t.DYN], t.DOUBLE, since)
        yield _callable("UnixSecond", [t.TIMESTAMP], t.DOUBLE, lambda moment: moment.nanos / NANOS)


def as_number(value: Any) -> float:
    """Convert a result to a number: numbers, quantities, and booleans as 0 or 1. Raises UsageError."""
    if isinstance(value, QuantityValue):
        return value.amount.nanos / NANOS
    if isinstance(value, bool | int | float):
        return float(value)
    raise UsageError(f"{value!r} is not a number or a quantity")


def _callable(name: str, params: list[Any], result: Any, compute: Callable[..., Any]) -> Function:
    """Return a function that can also be called as a method of its first argument."""
    count = len(params)
    overloads = [
        Overload(f"kwok_{name}_{count}", params, result, compute),
        member(f"kwok_{name}_{count}_of", params, result, compute),
    ]
    return Function(name, overloads)


def _usages(name: str, compute: UsageFunction) -> Iterator[Function]:
    yield _callable(name, [t.DYN, t.STRING], t.DOUBLE, lambda obj, resource: compute(obj, resource, ""))
    yield _callable(name, [t.DYN, t.STRING, t.STRING], t.DOUBLE, compute)


def _containers() -> Iterator[Function]:
    def status(pod: Any, name: str) -> Tree:
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        return next((container_status for container_status in statuses if container_status.get("name") == name), {})

    yield _callable("Ready", [t.DYN, t.STRING], t.BOOL, lambda pod, name: bool(status(pod, name).get("ready")))
    yield _callable(
        "RestartCount", [t.DYN, t.STRING], t.INT, lambda pod, name: status(pod, name).get("restartCount", 0)
    )


def _parse(text: str) -> QuantityValue:
    try:
        return QuantityValue(quantity.parse(text))
    except ValueError as error:
        raise EvalError(str(error)) from None


def _scaled(value: QuantityValue, factor: float) -> QuantityValue:
    return QuantityValue(Quantity(round(value.amount.nanos * factor), value.amount.format))


def _divided(value: QuantityValue, divisor: float) -> QuantityValue:
    if not divisor:
        raise EvalError("division by zero")
    return _scaled(value, 1 / divisor)


def _quantities() -> Iterator[Function]:
    def both(name: str, result: Any, compute: Callable[[Quantity, Quantity], Any]) -> Overload:
        return Overload(f"kwok_quantity{name}", [QUANTITY, QUANTITY], result, lambda a, b: compute(a.amount, b.amount))

    yield Function("Quantity", [Overload("kwok_quantity", [t.STRING], QUANTITY, _parse)])
    number = member("kwok_quantity_float", [QUANTITY], t.DOUBLE, lambda value: value.amount.nanos / NANOS)
    yield Function("AsApproximateFloat64", [number])
    yield Function("_+_", [both("_add", QUANTITY, lambda a, b: QuantityValue(a + b))])
    yield Function("_-_", [both("_subtract", QUANTITY, lambda a, b: QuantityValue(a - b))])
    yield Function("_<_", [both("_less", t.BOOL, lambda a, b: a < b)])
    yield Function("_>_", [both("_greater", t.BOOL, lambda a, b: b < a)])
    yield Function("_<=_", [both("_less_equals", t.BOOL, lambda a, b: not b < a)])
    yield Function("_>=_", [both("_greater_equals", t.BOOL, lambda a, b: not a < b)])
    for kind in (t.INT, t.UINT, t.DOUBLE):
        yield Function("_*_", [Overload(f"kwok_quantity_times_{kind.name}", [QUANTITY, kind], QUANTITY, _scaled)])
        yield Function("_/_", [Overload(f"kwok_quantity_over_{kind.name}", [QUANTITY, kind], QUANTITY, _divided)])


def _as_declared(obj: Tree) -> Tree:
    """Add the maps that Go's types always have, and decode timestamps."""
    if "resources" in obj or "image" in obj:  # a container
        return {**obj, "resources": {"limits": {}, "requests": {}, **(obj.get("resources") or {})}}
    metadata = {"annotations": {}, "labels": {}, **(obj.get("metadata") or {})}
    if isinstance(created := metadata.get("creationTimestamp"), str):
        metadata["creationTimestamp"] = Timestamp(int(parse_time(created).timestamp()) * NANOS)
    return {**obj, "metadata": metadata, "status": obj.get("status") or {}}
