"""``MutatingAdmissionPolicy``: CEL mutations of writes (KEP-3962).

A policy with ``reinvocationPolicy: IfNeeded`` is invoked again if a later one changed the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.errors import StatusError, internal_error
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.admission.admission_request import changed_kind, in_request_version, kind_of
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.admission.policy_metrics import NO_ERROR, PolicyMetrics, error_type
from steersman.apiserver.admission.validating_policy import Binding, PolicySources, variables_of
from steersman.apiserver.admission.validating_policy_match import Matcher, is_exempt
from steersman.apiserver.admission.validating_policy_params import ConfigurationError, collect, served_kind
from steersman.apiserver.authz.pending import allow_with_decisions
from steersman.apiserver.workers import run_step
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for
from steersman.schema.resources import Resource  # noqa: TC001 — compiled named tuples load the types of their fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.admission.mutating_policy_rules import MutatingRules
    from steersman.apiserver.admission.validating_policy_rules import Conditions
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.served import ServedResource


class _Policy:
    """A policy, compiled on its first match."""

    def __init__(self, tree: Tree) -> None:
        self.name: Final[str] = tree["metadata"]["name"]
        self.spec: Final[Tree] = tree.get("spec") or {}
        self.matcher: Final = Matcher(self.spec.get("matchConstraints") or {})
        self.fails: Final = self.spec.get("failurePolicy") != "Ignore"
        self.is_reinvoked: Final = self.spec.get("reinvocationPolicy") == "IfNeeded"
        self._rules: MutatingRules | None = None

    @property
    def rules(self) -> MutatingRules:
        """Return the compiled expressions."""
        if self._rules is None:
            from steersman.apiserver.admission.mutating_policy_rules import MutatingRules  # noqa: PLC0415

            self._rules = MutatingRules(self.spec)
        return self._rules

    def evaluate_conditions(self, variables: Tree, monotonic: Callable[[], float]) -> Conditions | None:
        """Evaluate the match conditions."""
        return self.rules.evaluate_conditions(variables, monotonic)


class _Fault(NamedTuple):
    message: str
    reason: str = ""


class _Invocation(NamedTuple):
    """A policy to invoke with one parameter."""

    policy: _Policy
    binding: str
    matched: Resource
    parameter: Tree | None

    @property
    def key(self) -> str:
        """Key of the invocation in the state of reinvocation: the names of policy, binding and parameter."""
        metadata = (self.parameter or {}).get("metadata") or {}
        return "/".join((self.policy.name, self.binding, metadata.get("namespace", ""), metadata.get("name", "")))

    def faults_for(self, message: str, reason: str = "Invalid") -> list[_Fault]:
        """Return the fault of a failed expression; none under ``failurePolicy: Ignore``."""
        return [_Fault(_denial(self.policy.name, self.binding, message), reason)] if self.policy.fails else []


class MutatingAdmissionPolicy(Plugin):
    """Apply the matching policies to creates and updates."""

    name: ClassVar[str] = "MutatingAdmissionPolicy"

    def __init__(self, registry: Registry, *, authorizer: Authorizer, metrics: PolicyMetrics | None = None) -> None:
        self._sources: Final = PolicySources(registry, authorizer=authorizer)
        self._clock: Final = registry.clock
        self._metrics: Final = metrics or PolicyMetrics()
        group = "admissionregistration.k8s.io"
        self._policies: Final = Lookup(registry.stored(f"mutatingadmissionpolicies.{group}").cache, _Policy)
        self._bindings: Final = Lookup(registry.stored(f"mutatingadmissionpolicybindings.{group}").cache, Binding)

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates, except of policies and reviews."""
        return operation in (Operation.CREATE, Operation.UPDATE) and not is_exempt(resource)

    def skip_while_empty(self) -> Lookup[Any]:
        """Return the policies."""
        return self._policies

    async def admit(self, attributes: Attributes) -> None:
        """Mutate the object. Raises 403 if a policy fails."""
        policies = await self._policies.all()
        if not policies or attributes.object is None:
            return
        by_policy: dict[str, list[Binding]] = {}
        for binding in await self._bindings.all():
            by_policy.setdefault(binding.policy, []).append(binding)
        faults: list[_Fault] = []
        invocations: list[_Invocation] = []
        for policy in policies:
            if policy.name in by_policy:
                invocations += await self._select(policy, by_policy[policy.name], attributes, faults)
        if invocations:
            faults += await self._run(invocations, attributes)
        if faults:
            raise _denied_error(attributes, faults)

    async def _select(
        self, policy: _Policy, bindings: Sequence[Binding], attributes: Attributes, faults: list[_Fault]
    ) -> list[_Invocation]:
        """Return the invocations of a policy; append errors to ``faults``."""
        sources = self._sources
        matched = await policy.matcher.match(attributes, namespace=sources.namespace, resource=sources.resource)
        if matched is None:
            return []

        def fail(binding: str, message: str) -> None:
            if policy.fails:
                faults.append(_Fault(_denial(policy.name, binding, message)))

        kind = policy.spec.get("paramKind")
        try:
            served = served_kind(kind, sources.of_kind) if kind is not None else None
        except ConfigurationError as error:
            fail("", f"failed to configure policy: {error}")
            return []
        invocations: list[_Invocation] = []
        for binding in bindings:
            if binding.matcher is not None:
                binding_match = await binding.matcher.match(
                    attributes, namespace=sources.namespace, resource=sources.resource
                )
                if binding_match is None:
                    continue
            try:
                parameters = await collect(binding.parameters, served, namespace=attributes.namespace)
            except ConfigurationError as error:
                fail(binding.name, f"failed to configure binding: {error}")
                continue
            invocations += [_Invocation(policy, binding.name, matched, parameter) for parameter in parameters]
        return invocations

    async def _run(self, invocations: Sequence[_Invocation], attributes: Attributes) -> list[_Fault]:
        """Invoke the policies; in a second run those that require it. Upstream: ``dispatchInvocations``.

        Policies are due again once any policy was applied, including the one itself.
        """
        await self._sources.require_namespace(attributes)
        state, own = attributes.reinvocation, attributes.reinvocation.of_plugin(self.name)
        if state.is_reinvoke:
            await run_step(own.begin_second_run, attributes.ctx.is_large, attributes.object)
        faults: list[_Fault] = []
        has_applied = False
        for invocation in invocations:
            before = await run_step(copy_tree, attributes.ctx.is_large, attributes.object)
            variables = await self._matching_variables(invocation, attributes, faults)
            if variables is None or (state.is_reinvoke and not own.is_due(invocation.key)):
                continue
            has_applied = await self._mutate(invocation, variables, attributes, faults) or has_applied
            if attributes.object != before:
                own.require_called()
            if invocation.policy.is_reinvoked:
                own.note_called(invocation.key)
        if has_applied:
            own.require_called()
            state.is_required = True
        await run_step(own.finish, attributes.ctx.is_large, attributes.object)
        return faults

    async def _matching_variables(
        self, invocation: _Invocation, attributes: Attributes, faults: list[_Fault]
    ) -> dict[str, Any] | None:
        """Return the variables of an invocation; None if a match condition is false or fails."""
        try:
            variables = await variables_of(attributes, invocation.matched, self._sources)
        except StatusError as refusal:
            text = f"failed to configure binding: failed to convert object version: {refusal.message}"
            faults.extend(invocation.faults_for(text, ""))
            return None
        variables["params"] = invocation.parameter
        policy = invocation.policy
        conditions = await allow_with_decisions(policy.evaluate_conditions, variables, self._clock.monotonic)
        if conditions is None:
            return variables
        operation = attributes.operation.value
        self._metrics.conditions.observe(
            conditions, kind="policy", name=policy.name, operation=operation, type_="validate"
        )
        if conditions.failure:
            faults.extend(invocation.faults_for(conditions.failure))
        return variables if conditions.hold else None

    async def _mutate(
        self, invocation: _Invocation, variables: dict[str, Any], attributes: Attributes, faults: list[_Fault]
    ) -> bool:
        """Apply the mutations of a policy; return whether one was applied."""
        from steersman.apiserver.admission.validating_policy_rules import EvaluationError  # noqa: PLC0415

        policy, matched = invocation.policy, invocation.matched
        served = self._sources.served(matched.group, matched.version, matched.name)
        struct = _struct_of(attributes, matched, served)
        if served is None or struct is None:
            return False
        has_applied = False
        for position in range(len(policy.rules)):
            started, message = self._clock.monotonic(), ""
            try:
                changed = await allow_with_decisions(
                    policy.rules.mutate, position, variables["object"], variables, struct
                )
            except EvaluationError as error:
                message = str(error)
            seconds, error_label = self._clock.monotonic() - started, error_type(message) if message else NO_ERROR
            self._metrics.observe_mutation(error_label, policy.name, invocation.binding, seconds)
            if message:
                faults.extend(invocation.faults_for(message))
                continue
            try:
                _check_kind(changed, variables["object"], served)
                variables["object"] = (
                    await _replace_object(changed, attributes, served)
                    if struct is served.struct
                    else _replace_body(changed, attributes, struct)
                )
            except DecodeError as decode_error:
                if policy.rules.is_patch(position):
                    raise internal_error(str(decode_error)) from None
                faults.extend(invocation.faults_for(str(decode_error)))
                continue
            has_applied = True
        return has_applied


def _struct_of(attributes: Attributes, matched: Resource, served: ServedResource | None) -> Struct | None:
    """Return the type of the request body, which a subresource may define."""
    kind = kind_of(matched, attributes.subresource)
    if served is None or kind["kind"] == matched.kind:
        return None if served is None else served.struct
    try:
        return struct_for(kind["group"], kind["version"], kind["kind"])
    except KeyError:
        return None


def _check_kind(changed: Tree, before: Tree, served: ServedResource) -> None:
    """Raise 500 if a policy gave a built-in object another kind, DecodeError if it has none."""
    change = changed_kind(changed, before, served)
    if change is not None:
        raise internal_error(f"failed to convert object: {change.reason}" if change.is_registered else change.reason)


def _replace_body(changed: Tree, attributes: Attributes, struct: Struct) -> Tree:
    """Replace the object by a mutated body of a subresource."""
    tree, _ = decode(struct, copy_tree(changed))
    if attributes.object is not None:
        attributes.object.clear()
        attributes.object.update(copy_tree(tree))
    return tree


async def _replace_object(changed: Tree, attributes: Attributes, served: ServedResource) -> Tree:
    """Replace the object by a mutated one, decoded and defaulted. Return it in the matched version."""
    tree: Tree = copy_tree(changed)
    unknown: list[str] = []
    if served.decode is not None:
        tree, unknown = served.decode(tree)
        tree.setdefault("metadata", {})  # the patch may have removed it
    elif served.struct is not None:
        tree, unknown = decode(served.struct, tree)
    if unknown and not served.is_custom:
        raise internal_error("strict decoding error: " + ", ".join(f"unknown field {quote(name)}" for name in unknown))
    served.strategy.default(tree, served.resource.version)
    obj = attributes.object
    if obj is not None:
        replacement = await in_request_version(tree, attributes, served)
        obj.clear()
        obj.update(replacement)
    return tree


def _denial(policy: str, binding: str, message: str) -> str:
    source = f"policy '{policy}' with binding '{binding}'" if binding else f"policy {quote(policy)}"
    return f"{source} denied request: {message}"


def _denied_error(attributes: Attributes, faults: Sequence[_Fault]) -> StatusError:
    error = attributes.forbidden("admission request denied by policy")
    error.status["message"] = faults[0].message
    if faults[0].reason:
        error.status["reason"] = faults[0].reason
    error.status.setdefault("details", {})["causes"] = [{"message": fault.message} for fault in faults]
    return error
