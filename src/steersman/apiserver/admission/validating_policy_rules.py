"""Compiled validating policies. Upstream: ``validator.go`` of plugin/policy/validating.

Loaded with the first policy, as it loads the expression language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apiserver.admission.policy_variables import PolicyVariables
from steersman.apiserver.admission.validating_policy_input import CostBudget
from steersman.cel import admission
from steersman.cel.admission import Compiler, ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.cel.admission import Purpose
    from steersman.cel.evaluator import Evaluated
    from steersman.cel.program import Program


#: Cost budget of all expressions of one policy, and of all match conditions of a policy or webhook.
BUDGET: Final = 10_000_000
CONDITIONS_BUDGET: Final = 2_500_000
_AUTHORIZER_VARIABLES: Final = ("authorizer", "authorizer.requestResource")
_MESSAGE_MAX_BYTES: Final = 5 * 1024
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class EvaluationError(Exception):
    """An expression has no value; clients receive the message."""


class Conditions(NamedTuple):
    """Result of match conditions. Upstream: ``matchconditions.MatchResult``."""

    hold: bool
    #: Error under ``failurePolicy: Fail``; empty without one.
    failure: str = ""
    #: Conditions with errors, up to the first that is false.
    errors: int = 0
    #: Time of the evaluation.
    seconds: float = 0.0


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
    #: Result of the match conditions; None without conditions.
    conditions: Conditions | None = None


def _no_time() -> float:
    return 0.0


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

    def evaluate_conditions(
        self,
        variables: Mapping[str, Any],
        monotonic: Callable[[], float] = _no_time,
        results: dict[str, Evaluated] | None = None,
    ) -> Conditions | None:
        """Evaluate the match conditions; None without conditions.

        ``results`` has those of earlier evaluations with the same variables, by expression.
        """
        if not self._conditions:
            return None
        started = monotonic()
        spending = CostBudget(CONDITIONS_BUDGET)
        values: list[bool] = []
        faults: list[str] = []
        try:
            for expression, program in self._conditions:
                try:
                    values.append(evaluate(expression, program, variables, spending, results) is True)
                except OutOfBudgetError:
                    raise
                except EvaluationError as error:
                    if all(values):
                        faults.append(str(error))
        except OutOfBudgetError as excess:
            failure = "" if self.ignores_errors else str(excess)
            return Conditions(hold=False, failure=failure, seconds=monotonic() - started)
        holds = all(values)
        failure = ""
        if faults and holds and not self.ignores_errors:
            unique = list(dict.fromkeys(faults))
            failure = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
        return Conditions(holds and not faults, failure, len(faults), monotonic() - started)

    def input(self, variables: Mapping[str, Any], spending: CostBudget) -> dict[str, Any]:
        """Return the values of all variables, including those of the policy."""
        if not self.variables:
            return dict(variables)
        return {**variables, "variables": PolicyVariables(self.variables, variables, spending)}


def _compiled(compiler: Compiler, expression: str, purpose: Purpose, *, authorizer: bool = True) -> Program | str:
    try:
        return compiler.compile(expression, purpose, authorizer=authorizer)
    except ExpressionError as error:
        return str(error)


def evaluate(
    expression: str,
    program: Program | str,
    variables: Mapping[str, Any],
    spending: CostBudget,
    results: dict[str, Evaluated] | None = None,
) -> Any:
    """Return the value of an expression; ``results`` of earlier evaluations are used, and extended. Raises EvaluationError."""
    if isinstance(program, str):
        raise EvaluationError(f"compilation error: {program}")
    result = None if results is None else results.get(expression)
    if result is None:
        result = program.evaluate(variables)
        if results is not None:
            results[expression] = result
    spending.remaining -= result.cost
    if spending.remaining < 0:
        raise OutOfBudgetError(_OUT_OF_BUDGET)
    if result.error is not None:
        raise EvaluationError(f"expression '{expression}' resulted in error: {result.error}")
    return result.value


class OutOfBudgetError(EvaluationError):
    """The policy's expressions exceed their cost budget; evaluation stops."""


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

    def validate(self, variables: Mapping[str, Any], monotonic: Callable[[], float] = _no_time) -> Outcome:
        """Evaluate the policy; ``variables`` are the predefined variables, ``monotonic`` measures the evaluations."""
        conditions = self.evaluate_conditions(variables, monotonic)
        if conditions is None or conditions.hold:
            return self._validate(variables, monotonic)._replace(conditions=conditions)
        failed = (self._failed(conditions.failure),) if conditions.failure else ()
        return Outcome(failed, conditions=conditions)

    def _validate(self, predefined: Mapping[str, Any], monotonic: Callable[[], float]) -> Outcome:
        """Evaluate the validations."""
        spending = CostBudget(BUDGET)
        variables = self.input(predefined, spending)
        # Messages and audit annotations have no authorizer, nor have the variables in them.
        unauthorized = {name: value for name, value in predefined.items() if name not in _AUTHORIZER_VARIABLES}
        message_variables = self.input(unauthorized, spending)
        #: None for a violation.
        decided: list[tuple[Decision | None, float]] = []
        try:
            for validation, program, _ in self._validations:
                started = monotonic()
                decision = self._decide(validation, program, variables, spending)
                decided.append((decision, monotonic() - started))
        except OutOfBudgetError as excess:
            return Outcome((self._failed(str(excess)),))
        decisions = [
            decision._replace(seconds=seconds) if decision.message else decision
            for decision, seconds in self._with_messages(decided, message_variables, spending)
        ]
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

    def _with_messages(
        self, decided: Sequence[tuple[Decision | None, float]], variables: Mapping[str, Any], spending: CostBudget
    ) -> list[tuple[Decision, float]]:
        """Complete the decisions on violations.

        As upstream, all message expressions are evaluated, and if they exceed the budget no validation has passed.
        """
        try:
            messages = [
                "" if program is None else _message_text(program, variables, spending)
                for _, _, program in self._validations
            ]
        except OutOfBudgetError as excess:
            failed = self._failed(f"failed messageExpression: {excess}")
            return [(decision if decision and decision.message else failed, seconds) for decision, seconds in decided]
        return [
            (decision or _violation(validation, message), seconds)
            for (decision, seconds), (validation, _, _), message in zip(
                decided, self._validations, messages, strict=True
            )
        ]

    def _annotate(self, predefined: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[str]]:
        spending = CostBudget(BUDGET)
        variables = self.input(predefined, spending)
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


def _violation(validation: Tree, message: str) -> Decision:
    """Return the decision on an object that violates a validation; ``message``: that of its expression, or empty."""
    expression = validation["expression"].strip()
    text = message or (validation.get("message") or "").strip() or f"failed expression: {expression}"
    return Decision(denied=True, message=text, reason=validation.get("reason") or "")


def _message_text(program: Program, variables: Mapping[str, Any], spending: CostBudget) -> str:
    """Return the value of a messageExpression; empty if it is not usable. Raises OutOfBudgetError."""
    result = program.evaluate(variables)
    spending.remaining -= result.cost
    if spending.remaining < 0:
        raise OutOfBudgetError(_OUT_OF_BUDGET)
    text = result.value.strip() if isinstance(result.value, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MESSAGE_MAX_BYTES else text
