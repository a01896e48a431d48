"""Chain of admission plugins: order and selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.admission.interface import Operation, Plugin, plugins_overriding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.lookups import Lookup
    from steersman.apiserver.generic.served import ServedResource

    #: Method of a plugin, and the lookup without whose objects it is skipped.
    Step = tuple[Callable[[Attributes], Awaitable[None] | None], Lookup[Any] | None]

#: Upstream's order (``AllOrderedPlugins``): defaulting, then policies and webhooks, then quota.
ORDER: Final = (
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "NodeDeclaredFeatureValidator",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
)
_POSITION: Final = {name: place for place, name in enumerate(ORDER)}


def run(steps: Sequence[Step], attributes: Attributes) -> Awaitable[None] | None:
    """Run the steps up to the first that must wait. Return an awaitable for the rest; None when all are done.

    Raises the error of a plugin that rejects the write, as does the awaitable.
    """
    for number, (step, skip_while_empty) in enumerate(steps, 1):
        if skip_while_empty is None or not skip_while_empty.is_empty():
            waiting = step(attributes)
            if waiting is not None:
                return _run_rest(waiting, steps[number:], attributes)
    return None


async def _run_rest(waiting: Awaitable[None], steps: Sequence[Step], attributes: Attributes) -> None:
    await waiting
    rest = run(steps, attributes)
    if rest is not None:
        await rest


def run_mutating(steps: Sequence[Step], attributes: Attributes) -> Awaitable[None] | None:
    """Run mutating plugins as ``run`` does, and once more if one of them requires it (``reinvocationPolicy``)."""
    waiting = run(steps, attributes)
    return None if waiting is None else _run_mutating(waiting, steps, attributes)


async def _run_mutating(waiting: Awaitable[None], steps: Sequence[Step], attributes: Attributes) -> None:
    await waiting
    if attributes.needs_reinvocation:
        attributes.reinvocation.is_reinvoke = True
        again = run(steps, attributes)
        if again is not None:
            await again


class Steps:
    """Plugins for one kind of write."""

    __slots__ = ("admit", "validate")

    def __init__(self, admit: tuple[Step, ...], validate: tuple[Step, ...]) -> None:
        self.admit: Final = admit
        self.validate: Final = validate

    async def mutate(self, attributes: Attributes) -> None:
        """Run the mutating plugins. Raises the error of a plugin that rejects the write."""
        waiting = run_mutating(self.admit, attributes)
        if waiting is not None:
            await waiting

    async def check(self, attributes: Attributes) -> None:
        """Run the validating plugins. Raises the error of a plugin that rejects the write."""
        waiting = run(self.validate, attributes)
        if waiting is not None:
            await waiting


class AdmissionChain:
    """Enabled plugins, in order."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        unknown = [plugin.name for plugin in plugins if plugin.name not in _POSITION]
        if unknown:
            raise ValueError(f"admission plugins without a place in the order: {', '.join(unknown)}")
        self.plugins: Final = tuple(sorted(plugins, key=lambda plugin: _POSITION[plugin.name]))
        self._mutating: Final = plugins_overriding("admit", self.plugins)
        self._validating: Final = plugins_overriding("validate", self.plugins)

    def steps(self, served: ServedResource, subresource: str, operation: Operation) -> Steps:
        """Return the plugins for one kind of write; callers cache the result."""
        resource = served.resource

        def handling(plugins: Sequence[Plugin]) -> list[Plugin]:
            return [plugin for plugin in plugins if plugin.handles(resource, subresource, operation)]

        return Steps(
            tuple((plugin.admit, plugin.skip_while_empty()) for plugin in handling(self._mutating)),
            tuple((plugin.validate, plugin.skip_while_empty()) for plugin in handling(self._validating)),
        )
