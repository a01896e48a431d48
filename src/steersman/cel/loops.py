"""Evaluation of comprehensions as loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from steersman.cel import values as v
from steersman.cel.values import CostError, EvalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.cel.evaluator import State

    Step: TypeAlias = Callable[[State], Any]

#: Cost of an iteration without the evaluated expressions.
_TEST_COST: Final = 3
_BUILD_COST: Final = 12


def loop(macro: str, range_: Step, slots: Sequence[int], condition: Step | None, step: Step | None) -> Step:
    """Return the step that evaluates a macro; ``slots`` hold its variables."""
    iterations = _iterations(range_, slots)
    if condition is not None and macro in ("all", "exists"):
        return _quantifier(iterations, condition, decisive=macro == "exists")
    if condition is not None and macro == "existsOne":
        return _exists_one(iterations, condition)
    if macro == "filter":
        return _collect(iterations, condition, _slot_reader(slots[0]))
    if step is not None and macro in ("transformMap", "transformMapEntry"):
        return _transform_map(iterations, condition, step, slots[0] if macro == "transformMap" else None)
    return _collect(iterations, condition, step or _slot_reader(slots[0]))


def _slot_reader(slot: int) -> Step:
    return lambda state: state.slots[slot]


def _iterations(range_: Step, slots: Sequence[int]) -> Callable[[State, int], Iterator[None]]:
    """Return a generator that sets the variables and charges the cost of each iteration."""
    first, second = (slots[0], slots[1]) if len(slots) == 2 else (slots[0], None)

    def run(state: State, cost: int) -> Iterator[None]:
        over = range_(state)
        if isinstance(over, dict):
            pairs: Any = over.items()
        elif isinstance(over, list):
            pairs = enumerate(over) if second is not None else ((item, None) for item in over)
        else:
            raise EvalError(f"got '{v.type_name(over)}', expected iterable type")
        state.cost += 1
        for one, other in pairs:
            state.charge(cost)
            state.slots[first] = one
            if second is not None:
                state.slots[second] = other
            yield

    return run


def _quantifier(iterations: Callable[[State, int], Iterator[None]], condition: Step, *, decisive: bool) -> Step:
    """Build ``all`` or ``exists``; an error of one iteration counts only if no iteration is decisive."""

    def run(state: State) -> bool:
        fault: EvalError | None = None
        for _ in iterations(state, _TEST_COST):
            try:
                answer = condition(state)
            except CostError:
                raise
            except EvalError as error:
                fault = error
                continue
            if answer is decisive:
                return bool(answer)
            if not isinstance(answer, bool):
                fault = EvalError("no such overload")
        if fault is not None:
            raise fault
        return not decisive

    return run


def _holds(condition: Step, state: State) -> bool:
    answer = condition(state)
    if not isinstance(answer, bool):
        raise EvalError("no such overload")
    return answer


def _exists_one(iterations: Callable[[State, int], Iterator[None]], condition: Step) -> Step:
    def run(state: State) -> bool:
        return sum(_holds(condition, state) for _ in iterations(state, _TEST_COST)) == 1

    return run


def _collect(iterations: Callable[[State, int], Iterator[None]], condition: Step | None, step: Step) -> Step:
    def run(state: State) -> list[Any]:
        return [step(state) for _ in iterations(state, _BUILD_COST) if condition is None or _holds(condition, state)]

    return run


def _transform_map(
    iterations: Callable[[State, int], Iterator[None]], condition: Step | None, step: Step, key_slot: int | None
) -> Step:
    def run(state: State) -> dict[Any, Any]:
        transformed: dict[Any, Any] = {}
        for _ in iterations(state, _BUILD_COST):
            if condition is not None and not _holds(condition, state):
                continue
            value = step(state)
            entries = value if key_slot is None else {state.slots[key_slot]: value}
            if not isinstance(entries, dict):
                raise EvalError("no such overload")
            for key, item in entries.items():
                if key in transformed:
                    raise EvalError(f"insert failed: key {v.show_key(key)} already exists")
                transformed[key] = item
        return transformed

    return run
