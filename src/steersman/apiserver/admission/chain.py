"""Chain of admission plugins: order and selection."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.admission.interface import Operation, Plugin, plugins_overriding
from steersman.apiserver.admission.plugin_metrics import Durations, PluginMetrics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.lookups import Lookup
    from steersman.apiserver.generic.served import ServedResource

    #: Method of a plugin, the lookup without whose objects it is skipped, and its durations.
    Step = tuple[Callable[[Attributes], Awaitable[None] | None], Lookup[Any] | None, Durations]

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
#: The steps of admission, as metrics name them.
ADMIT: Final = "admit"
VALIDATE: Final = "validate"
_POSITION: Final = {name: place for place, name in enumerate(ORDER)}


class Phase:
    """Plugins of one step of admission for one kind of write, and their durations."""

    __slots__ = ("durations", "monotonic", "steps")

    def __init__(
        self, steps: Sequence[Step], durations: Durations, monotonic: Callable[[], float] = time.perf_counter
    ) -> None:
        self.steps: Final = tuple(steps)
        self.durations: Final = durations
        self.monotonic: Final = monotonic

    def __len__(self) -> int:
        return len(self.steps)


def run(phase: Phase, attributes: Attributes) -> Awaitable[None] | None:
    """Run the plugins up to the first that must wait. Return an awaitable for the rest; None when all are done.

    Plugins before that one are counted as accepting at once, and not timed: reading the clock costs more than most of them.
    Raises the error of a plugin that rejects the write, as does the awaitable.
    """
    started = phase.monotonic()
    for number, (step, skip_while_empty, durations) in enumerate(phase.steps):
        if skip_while_empty is None or not skip_while_empty.is_empty():
            try:
                waiting = step(attributes)
            except Exception:
                _reject(phase, durations, started, started)
                raise
            if waiting is not None:
                return _run_rest(phase, number, waiting, attributes, started=started)
            durations.accepted.counts[0] += 1
    phase.durations.accept(phase.monotonic() - started)
    return None


async def _run_rest(
    phase: Phase, number: int, waiting: Awaitable[None] | None, attributes: Attributes, *, started: float
) -> None:
    """Wait for the plugin at a position, and run those after it."""
    monotonic = phase.monotonic
    before = monotonic()
    for step, skip_while_empty, durations in phase.steps[number:]:
        if waiting is None and skip_while_empty is not None and skip_while_empty.is_empty():
            continue
        try:
            if waiting is None:
                waiting = step(attributes)
            if waiting is not None:
                await waiting
        except Exception:
            _reject(phase, durations, before, started)
            raise
        waiting = None
        now = monotonic()
        durations.accept(now - before)
        before = now
    phase.durations.accept(before - started)


def _reject(phase: Phase, durations: Durations, before: float, started: float) -> None:
    now = phase.monotonic()
    durations.reject(now - before)
    phase.durations.reject(now - started)


def run_mutating(phase: Phase, attributes: Attributes) -> Awaitable[None] | None:
    """Run mutating plugins as ``run`` does, and once more if one of them requires it (``reinvocationPolicy``)."""
    waiting = run(phase, attributes)
    return None if waiting is None else _run_mutating(waiting, phase, attributes)


async def _run_mutating(waiting: Awaitable[None], phase: Phase, attributes: Attributes) -> None:
    await waiting
    if attributes.needs_reinvocation:
        attributes.reinvocation.is_reinvoke = True
        again = run(phase, attributes)
        if again is not None:
            await again


class Steps:
    """Plugins for one kind of write."""

    __slots__ = ("admit", "validate")

    def __init__(self, admit: Phase, validate: Phase) -> None:
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

    def __init__(
        self,
        plugins: Sequence[Plugin] = (),
        *,
        metrics: PluginMetrics | None = None,
        monotonic: Callable[[], float] = time.perf_counter,
    ) -> None:
        unknown = [plugin.name for plugin in plugins if plugin.name not in _POSITION]
        if unknown:
            raise ValueError(f"admission plugins without a place in the order: {', '.join(unknown)}")
        self.plugins: Final = tuple(sorted(plugins, key=lambda plugin: _POSITION[plugin.name]))
        self._metrics: Final = metrics or PluginMetrics()
        self._monotonic: Final = monotonic
        self._mutating: Final = plugins_overriding("admit", self.plugins)
        self._validating: Final = plugins_overriding("validate", self.plugins)

    def steps(self, served: ServedResource, subresource: str, operation: Operation) -> Steps:
        """Return the plugins for one kind of write; callers cache the result."""
        resource, metrics = served.resource, self._metrics

        def phase(kind: str, plugins: Sequence[Plugin]) -> Phase:
            steps = [
                (
                    plugin.admit if kind == ADMIT else plugin.validate,
                    plugin.skip_while_empty(),
                    metrics.of_plugin(plugin.name, operation.value, kind),
                )
                for plugin in plugins
                if plugin.handles(resource, subresource, operation)
            ]
            return Phase(steps, metrics.of_step(operation.value, kind), self._monotonic)

        return Steps(phase(ADMIT, self._mutating), phase(VALIDATE, self._validating))
