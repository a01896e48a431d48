"""The chain of admission plugins: which of them a write meets, in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.admission.interface import Operation, Plugin, plugins_that

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.lookups import Lookup
    from steersman.apiserver.generic.served import ServedResource

    #: What a plugin does, and what it goes by: without any of that it has nothing to do.
    Step = tuple[Callable[[Attributes], Awaitable[None] | None], Lookup[Any] | None]

#: Upstream's order (``AllOrderedPlugins``): object defaults, then policies and webhooks, then what must have the last word.
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
_PLACE: Final = {name: place for place, name in enumerate(ORDER)}


def run(steps: Sequence[Step], attributes: Attributes) -> Awaitable[None] | None:
    """Run the steps as far as they wait for nothing. Returns what does the rest, None when all is done.

    Raises what they refuse with, and so does the rest.
    """
    for number, (step, goes_by) in enumerate(steps, 1):
        if goes_by is None or not goes_by.none():
            waiting = step(attributes)
            if waiting is not None:
                return _run_on(waiting, steps[number:], attributes)
    return None


async def _run_on(waiting: Awaitable[None], steps: Sequence[Step], attributes: Attributes) -> None:
    await waiting
    rest = run(steps, attributes)
    if rest is not None:
        await rest


class Steps:
    """The plugins that one kind of write meets."""

    __slots__ = ("admit", "validate")

    def __init__(self, admit: tuple[Step, ...], validate: tuple[Step, ...]) -> None:
        self.admit: Final = admit
        self.validate: Final = validate

    async def mutate(self, attributes: Attributes) -> None:
        """Run the mutating plugins. Raises what they refuse with."""
        waiting = run(self.admit, attributes)
        if waiting is not None:
            await waiting

    async def check(self, attributes: Attributes) -> None:
        """Run the validating plugins. Raises what they refuse with."""
        waiting = run(self.validate, attributes)
        if waiting is not None:
            await waiting


class AdmissionChain:
    """All plugins that are switched on, in order."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        unknown = [plugin.name for plugin in plugins if plugin.name not in _PLACE]
        if unknown:
            raise ValueError(f"admission plugins without a place in the order: {', '.join(unknown)}")
        self.plugins: Final = tuple(sorted(plugins, key=lambda plugin: _PLACE[plugin.name]))
        self._mutating: Final = plugins_that("admit", self.plugins)
        self._validating: Final = plugins_that("validate", self.plugins)

    def steps(self, served: ServedResource, subresource: str, operation: Operation) -> Steps:
        """The plugins for one kind of write; callers keep the answer."""
        resource = served.resource

        def concerned(plugins: Sequence[Plugin]) -> list[Plugin]:
            return [plugin for plugin in plugins if plugin.handles(resource, subresource, operation)]

        return Steps(
            tuple((plugin.admit, plugin.goes_by()) for plugin in concerned(self._mutating)),
            tuple((plugin.validate, plugin.goes_by()) for plugin in concerned(self._validating)),
        )
