"""Compiled validating policies. Upstream: ``validator.go`` of plugin/policy/validating.

Loaded with the first policy, as it loads the expression language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apiserver.admission.validating_policy_input import CostBudget, PolicyVariables
from steersman.cel import admission
from steersman.cel.admission import Compiler, ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.cel.admission import Purpose
    from steersman.cel.program import Program


#: Cost budget of all expressions of one policy, and of all match conditions of a policy or webhook.
BUDGET: Final = 10_000_000
CONDITIONS_BUDGET: Final = 2_500_000
_AUTHORIZER_VARIABLES: Final = ("authorizer", "authorizer.requestResource")
_MESSAGE_MAX_BYTES: Final = 5 * 1024
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class EvaluationError(Exception):
    """An expression has no value; clients receive the message."""


class Decision(NamedTuple):
    """Result of one validation."""

    denied: bool
    #: Message of a denial, or of an error that is ignored.
    message: str = ""
    reason: str = ""
    #: Time of the evaluation.
    seconds: float = 0.0


class Outcome(NamedTuple):
    """Result of a policy."""

    decisions: tuple[Decision, ...] = ()
    #: Keys and values of audit annotations.
    annotations: tuple[tuple[str, str], ...] = ()
    #: Errors of audit annotations that deny the write.
    annotation_errors: tuple[str, ...] = ()


class Expressions:
    """Match conditions and variables, shared by validating and mutating policies."""

    def __init__(self, spec: Tree, *, mutates: bool = False) -> None:
        self.spec: Final = spec
        self.ignores_errors: Final = spec.get("failurePolicy") == "Ignore"
        variables = spec.get("variables") or ()
        params = spec.get("paramKind") is not None
        self._compiler: Final = Compiler(params=params, composed=bool(variables))
        plain = Compiler(params=params, composed=False)
        self._conditions: Final = [
            (c["expression"], _compiled(plain, c["expression"].strip(), admission.CONDITION))
            for c in spec.get("matchConditions") or ()
        ]
        self.variables: Final[dict[str, Program | str]] = {}
        purpose = admission.MUTATION_VARIABLE if mutates else admission.VARIABLE
        for variable in variables:
            self.variables[variable["name"]] = self._variable(variable, purpose)

    def _variable(self, variable: Tree, purpose: Purpose) -> Program | str:
        try:
            return self._compiler.add_variable(variable["name"], variable["expression"], purpose)
        except ExpressionError as error:
            return str(error)

    def compiled(self, expression: str, purpose: Purpose, *, authorizer: bool = True) -> Program | str:
        """Return a program, or its compilation error."""
        return _compiled(self._compiler, expression, purpose, authorizer=authorizer)

    def holds(self, around: Mapping[str, Any]) -> bool:
        """True if the match conditions hold. Raises EvaluationError."""
        spending = CostBudget(CONDITIONS_BUDGET)
        faults: list[str] = []
        for expression, program in self._conditions:
            try:
                if evaluate(expression, program, around, spending) is not True:
                    return False
            except OutOfBudgetError:
                if self.ignores_errors:
                    return False
                raise
            except EvaluationError as error:
                faults.append(str(error))
        if faults and not self.ignores_errors:
            unique = list(dict.fromkeys(faults))
            raise EvaluationError(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")
        return not faults

    def input(self, around: Mapping[str, Any], spending: CostBudget) -> dict[str, Any]:
        """Return the values of all variables, including those of the policy."""
        if not self.variables:
            return dict(around)
        return {**around, "variables": PolicyVariables(self.variables, around, spending)}


def _compiled(compiler: Compiler, expression: str, purpose: Purpose, *, authorizer: bool = True) -> Program | str:
    try:
        return compiler.compile(expression, purpose, authorizer=authorizer)
    except ExpressionError as error:
        return str(error)


def evaluate(expression: str, program: Program | str, variables: Mapping[str, Any], spending: CostBudget) -> Any:
    """Return the value of an expression. Raises EvaluationError."""
    if isinstance(program, str):
        raise EvaluationError(f"compilation error: {program}")
    result = program.evaluate(variables)
    spending.remaining -= result.cost
    if spending.remaining < 0:
        raise OutOfBudgetError(_OUT_OF_BUDGET)
    if result.error is not None:
        raise EvaluationError(f"expression '{expression}' resulted in error: {result.error}")
    return result.value


class OutOfBudgetError(EvaluationError):
    """The policy's expressions exceed their cost budget; evaluation stops."""


def _no_time() -> float:
    return 0.0


class ValidatingRules(Expressions):
    """Compiled validations of a policy."""

    def __init__(self, spec: Tree) -> None:
        super().__init__(spec)
        self._validations: Final = [
            (validation, self.compiled(validation["expression"], admission.CONDITION), self._message(validation))
            for validation in spec.get("validations") or ()
        ]
        self._annotations: Final = [
            (annotation, self.compiled(annotation["valueExpression"], admission.AUDIT_ANNOTATION))
            for annotation in spec.get("auditAnnotations") or ()
        ]

    def _message(self, validation: Tree) -> Program | None:
        expression = validation.get("messageExpression")
        program = self.compiled(expression, admission.MESSAGE, authorizer=False) if expression else None
        return None if isinstance(program, str) else program

    def validate(self, around: Mapping[str, Any], monotonic: Callable[[], float] = _no_time) -> Outcome:
        """Evaluate the policy; ``around`` are the predefined variables, ``monotonic`` measures the evaluations."""
        try:
            if not self.holds(around):
                return Outcome()
        except EvaluationError as error:
            return Outcome((self._failed(str(error)),))
        spending = CostBudget(BUDGET)
        variables = self.input(around, spending)
        # Messages and audit annotations have no authorizer, nor have the variables in them.
        unauthorized = {name: value for name, value in around.items() if name not in _AUTHORIZER_VARIABLES}
        message_variables = self.input(unauthorized, spending)
        decisions: list[Decision] = []
        try:
            for validation, program, message in self._validations:
                started = monotonic()
                decision = self._decide(validation, program, variables, spending)
                seconds = monotonic() - started
                if decision is None:
                    decision = self._violation(validation, message, message_variables, spending)
                decisions.append(decision._replace(seconds=seconds) if decision.message else decision)
        except OutOfBudgetError as excess:
            return Outcome((self._failed(str(excess)),))
        notes, faults = self._annotate(unauthorized)
        return Outcome(tuple(decisions), tuple(notes), tuple(faults))

    def _failed(self, message: str) -> Decision:
        return Decision(not self.ignores_errors, message)

    def _decide(
        self, validation: Tree, program: Program | str, variables: Mapping[str, Any], spending: CostBudget
    ) -> Decision | None:
        """Evaluate a validation; None if the object violates it. Raises OutOfBudgetError."""
        try:
            is_valid = evaluate(validation["expression"], program, variables, spending) is True
        except OutOfBudgetError:
            raise
        except EvaluationError as error:
            return self._failed(str(error))
        return Decision(denied=False) if is_valid else None

    def _violation(
        self, validation: Tree, message: Program | None, variables: Mapping[str, Any], spending: CostBudget
    ) -> Decision:
        """Return the decision on an object that violates a validation."""
        text = _message_text(message, variables, spending) if message is not None else ""
        expression = validation["expression"].strip()
        text = text or (validation.get("message") or "").strip() or f"failed expression: {expression}"
        return Decision(denied=True, message=text, reason=validation.get("reason") or "")

    def _annotate(self, around: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[str]]:
        spending = CostBudget(BUDGET)
        variables = self.input(around, spending)
        notes: list[tuple[str, str]] = []
        faults: list[str] = []
        for annotation, program in self._annotations:
            try:
                value = evaluate(annotation["valueExpression"], program, variables, spending)
            except EvaluationError as error:
                if not self.ignores_errors:
                    faults.append(str(error))
                continue
            if isinstance(value, str) and value.strip():
                notes.append((annotation["key"], value.strip()))
        return notes, faults


def _message_text(program: Program, variables: Mapping[str, Any], spending: CostBudget) -> str:
    """Return the value of a messageExpression; empty if it is not usable."""
    result = program.evaluate(variables)
    spending.remaining -= result.cost
    text = result.value.strip() if isinstance(result.value, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MESSAGE_MAX_BYTES else text
