"""Variables that a policy declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.cel.values import EvalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apiserver.admission.validating_policy_input import CostBudget
    from steersman.cel.program import Program


class PolicyVariables(dict[str, Any]):
    """The value of ``variables``: each is evaluated on first access."""

    def __init__(
        self, programs: Mapping[str, Program | str], predefined: Mapping[str, Any], spending: CostBudget
    ) -> None:
        super().__init__()
        #: A text instead of a program is its compilation error.
        self._programs: Final = programs
        self._predefined: Final = predefined
        self._spending: Final = spending

    def __contains__(self, name: object) -> bool:
        return name in self._programs

    def __missing__(self, name: str) -> Any:
        program = self._programs[name]
        if isinstance(program, str):
            raise EvalError(f'composited variable "{name}" fails to compile: {program}')
        result = program.evaluate({**self._predefined, "variables": self})
        self._spending.remaining -= result.cost
        if result.error is not None:
            raise EvalError(f'composited variable "{name}" fails to evaluate: {result.error}')
        self[name] = result.value
        return result.value
