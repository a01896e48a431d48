"""``ValidatingAdmissionPolicy``: CEL validations of writes (KEP-3488).

A policy applies through its bindings. The CEL compiler is imported with the first policy that matches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.apimachinery.errors import StatusError, not_found
from steersman.apimachinery.gotext import to_json
from steersman.apiserver.admission.admission_request import objects_in_version, request_of
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.admission.policy_metrics import PolicyMetrics, error_type
from steersman.apiserver.admission.validating_policy_match import Matcher, is_exempt, is_namespace
from steersman.apiserver.admission.validating_policy_params import ConfigurationError, collect, served_kind
from steersman.apiserver.authz.pending import allow_with_decisions
from steersman.apiserver.workers import with_allowance
from steersman.cel.loading import is_loaded, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.validating_policy_rules import Decision, Outcome, ValidatingRules
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.served import ServedResource
    from steersman.schema.resources import Resource


_FAILURE_KEY: Final = "validation.policy.admission.k8s.io/validation_failure"
_ANNOTATION_MAX_BYTES: Final = 10 * 1024
_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}


class PolicySources:
    """Dependencies of validating and mutating policies."""

    def __init__(self, registry: Registry, *, authorizer: Authorizer) -> None:
        self._registry: Final = registry
        self.authorizer: Final = authorizer
        self._namespaces: Final = Lookup(registry.stored("namespaces").cache, whole)

    async def namespace(self, name: str) -> Tree | None:
        """Return a namespace; read-only."""
        return await self._namespaces.get(name)

    async def namespace_of(self, attributes: Attributes) -> Tree | None:
        """Return the namespace of the write; None for cluster-scoped objects and Namespaces."""
        if not attributes.namespace or is_namespace(attributes):
            return None
        return await self._namespaces.get(attributes.namespace)

    async def require_namespace(self, attributes: Attributes) -> None:
        """Raise 404 if the namespace of the request does not exist, which other plugins allow for CONNECT requests."""
        if attributes.namespace and not is_namespace(attributes) and await self.namespace_of(attributes) is None:
            raise not_found("namespaces", attributes.namespace)

    def resource(self, group: str, version: str, name: str) -> Resource | None:
        """Return the resource of a URL."""
        return self._registry.resource(group, version, name)

    def served(self, group: str, version: str, name: str) -> ServedResource | None:
        """Return a resource that stores objects."""
        return self._registry.get(group, version, name)

    def of_kind(self, api_version: str, kind: str) -> ServedResource | None:
        """Return the resource that stores objects of a kind."""
        candidates = [self.served(r.group, r.version, r.name) for r in self._registry.of_kind(api_version, kind)]
        return next((served for served in candidates if served is not None), None)


class _Policy:
    """A policy, compiled on its first match."""

    def __init__(self, tree: Tree) -> None:
        self.name: Final[str] = tree["metadata"]["name"]
        self.spec: Final[Tree] = tree.get("spec") or {}
        self.matcher: Final = Matcher(self.spec.get("matchConstraints") or {})
        self._rules: ValidatingRules | None = None

    @property
    def rules(self) -> ValidatingRules:
        """Return the compiled expressions."""
        if self._rules is None:
            from steersman.apiserver.admission.validating_policy_rules import ValidatingRules  # noqa: PLC0415

            self._rules = ValidatingRules(self.spec)
        return self._rules

    def validate(self, variables: Tree, monotonic: Callable[[], float]) -> Outcome:
        """Evaluate the policy."""
        return self.rules.validate(variables, monotonic)


class Binding:
    """A binding: matched resources, parameters and validation actions."""

    def __init__(self, tree: Tree) -> None:
        spec: Tree = tree.get("spec") or {}
        self.name: Final[str] = tree["metadata"]["name"]
        self.policy: Final[str] = spec.get("policyName") or ""
        self.parameters: Final[Tree | None] = spec.get("paramRef")
        self.actions: Final[Sequence[str]] = spec.get("validationActions") or ()
        resources = spec.get("matchResources")
        self.matcher: Final = Matcher(resources) if resources is not None else None


class _Denial(NamedTuple):
    policy: str
    binding: str
    message: str
    reason: str = ""


class ValidatingAdmissionPolicy(Plugin):
    """Evaluate the matching policies on every write."""

    name: ClassVar[str] = "ValidatingAdmissionPolicy"

    def __init__(self, registry: Registry, *, authorizer: Authorizer, metrics: PolicyMetrics | None = None) -> None:
        self._sources: Final = PolicySources(registry, authorizer=authorizer)
        self._clock: Final = registry.clock
        self._metrics: Final = metrics or PolicyMetrics()
        group = "admissionregistration.k8s.io"
        self._policies: Final = Lookup(registry.stored(f"validatingadmissionpolicies.{group}").cache, _Policy)
        self._bindings: Final = Lookup(registry.stored(f"validatingadmissionpolicybindings.{group}").cache, Binding)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for all writes, except of policies and reviews."""
        return not is_exempt(resource)

    def skip_while_empty(self) -> Lookup[Any]:
        """Return the policies."""
        return self._policies

    async def validate(self, attributes: Attributes) -> None:
        """Raise 422 (or the policy's reason) for a denied write; add warnings and audit annotations."""
        policies = await self._policies.all()
        if not policies:
            return
        by_policy: dict[str, list[Binding]] = {}
        for binding in await self._bindings.all():
            by_policy.setdefault(binding.policy, []).append(binding)
        denials: list[_Denial] = []
        for policy in policies:
            if policy.name in by_policy:
                denials += await self._evaluate(policy, by_policy[policy.name], attributes)
        if denials:
            raise _denied_error(attributes, denials[0])

    async def _evaluate(self, policy: _Policy, bindings: Sequence[Binding], attributes: Attributes) -> list[_Denial]:
        sources = self._sources
        matched = await policy.matcher.match(attributes, namespace=sources.namespace, resource=sources.resource)
        if matched is None:
            return []
        fails = policy.spec.get("failurePolicy") != "Ignore"
        kind = policy.spec.get("paramKind")
        try:
            served = served_kind(kind, sources.of_kind) if kind is not None else None
        except ConfigurationError as error:
            return [_Denial(policy.name, "", f"failed to configure policy: {error}")] if fails else []
        denials: list[_Denial] = []
        notes: dict[str, list[str]] = {}
        variables: Tree | None = None
        for binding in bindings:
            if not await _applies(binding, attributes, sources):
                continue
            try:
                parameters = await collect(binding.parameters, served, namespace=attributes.namespace)
            except ConfigurationError as error:
                if fails:
                    denials.append(_Denial(policy.name, binding.name, f"failed to configure binding: {error}"))
                continue
            if variables is None:
                try:
                    variables = await variables_of(attributes, matched, sources)
                except StatusError as failed:
                    text = f"failed to configure binding: failed to convert object version: {failed.message}"
                    return [*denials, _Denial(policy.name, binding.name, text)] if fails else denials
                await sources.require_namespace(attributes)
            for parameter in parameters:
                inputs = {**variables, "params": parameter}
                outcome = await allow_with_decisions(policy.validate, inputs, self._clock.monotonic)
                if outcome.conditions is not None:
                    operation = attributes.operation.value
                    self._metrics.conditions.observe(
                        outcome.conditions, kind="policy", name=policy.name, operation=operation, type_="validate"
                    )
                denials += _apply_actions(attributes, policy.name, binding, outcome, self._metrics)
                for key, value in outcome.annotations:
                    if value not in notes.setdefault(key, []):
                        notes[key].append(value.encode()[:_ANNOTATION_MAX_BYTES].decode(errors="ignore"))
        for key, values in notes.items():
            attributes.ctx.annotate(f"{policy.name}/{key}", ", ".join(values))
        return denials


async def _applies(binding: Binding, attributes: Attributes, sources: PolicySources) -> bool:
    if binding.matcher is None:
        return True
    matched = await binding.matcher.match(attributes, namespace=sources.namespace, resource=sources.resource)
    return matched is not None


async def variables_of(attributes: Attributes, matched: Resource, sources: PolicySources) -> Tree:
    """Return the values of the variables that all policies have."""
    if not is_loaded():
        await with_allowance(load)
    from steersman.apiserver.admission import validating_policy_input as policy_input  # noqa: PLC0415 — loads the language

    new, old = await objects_in_version(attributes, matched, sources.served)
    return {
        "object": new,
        "oldObject": old,
        "request": request_of(attributes, matched),
        "namespaceObject": policy_input.namespace_object(await sources.namespace_of(attributes)),
        **policy_input.authorizer_variables(attributes, sources.authorizer),
    }


def _apply_actions(
    attributes: Attributes, policy: str, binding: Binding, outcome: Outcome, metrics: PolicyMetrics
) -> list[_Denial]:
    """Perform the validation actions of the binding; return the failures that deny the write."""
    denials: list[_Denial] = []
    for position, decision in enumerate(outcome.decisions):
        message = decision.message
        if not message:
            continue
        actions = binding.actions if decision.denied else ("Allow",)
        for action in actions:
            metrics.observe_validation(action.lower(), error_type(message), policy, binding.name, decision.seconds)
            if action == "Deny":
                denials.append(_Denial(policy, binding.name, message, decision.reason))
            elif action == "Warn":
                prefix = f"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding.name}'"
                attributes.ctx.warn(f"{prefix}: {message}")
            elif action == "Audit":
                attributes.ctx.annotate(_FAILURE_KEY, _failure_note(policy, binding, position, decision))
    for message in outcome.annotation_errors:
        metrics.observe_validation("deny", error_type(message), policy, binding.name, 0.0)
        denials.append(_Denial(policy, binding.name, message))
    return denials


def _failure_note(policy: str, binding: Binding, position: int, decision: Decision) -> str:
    note = {
        "message": decision.message,
        "policy": policy,
        "binding": binding.name,
        "expressionIndex": position,
        "validationActions": list(binding.actions),
    }
    return to_json([note])


def _denied_error(attributes: Attributes, denial: _Denial) -> StatusError:
    binding_suffix = f" with binding '{denial.binding}'" if denial.binding else ""
    message = f"ValidatingAdmissionPolicy '{denial.policy}'{binding_suffix} denied request: {denial.message}"
    error = attributes.forbidden(message)
    reason = denial.reason or "Invalid"
    error.status["reason"] = reason
    error.status["code"] = _CODES.get(reason, 422)
    error.status.setdefault("details", {}).setdefault("causes", []).append({"message": message})
    return error
