"""Controller of device taint eviction: watches pods, claims, slices and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from lightkube.models.core_v1 import Pod
from lightkube.models.resource_v1 import ResourceClaim, ResourceSlice
from lightkube.models.resource_v1beta2 import DeviceTaintRule

from steersman.apimachinery.timestamps import format_time
from steersman.client import custom
from steersman.client.changes import Deleted, Updated
from steersman.client.errors import NotFound
from steersman.client.objects import name_of, namespace_of, uid_of
from steersman.controllers.devicetainteviction import plan
from steersman.controllers.devicetainteviction.rule_status import (
    PERIOD_SECONDS,
    RuleScope,
    seconds_to_update,
    status_to_apply,
)
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.eviction_metrics import EvictionMetrics
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.result import Result
from steersman.workloads.disruption import disruption_patch
from steersman.workloads.node_matching import NO_EXECUTE
from steersman.workloads.pods import is_active, node_of
from steersman.workloads.resource_claims import claims_in_use, entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.client import ResourceType
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext

#: Beta and off by default in 1.36: served only with ``--runtime-config``.
RULES: Final[ResourceType[DeviceTaintRule]] = custom(
    "resource.k8s.io/v1beta2", "DeviceTaintRule", plural="devicetaintrules", namespaced=False, model=DeviceTaintRule
)
_SERVED: Final = "resource.k8s.io/v1beta2 devicetaintrules"
_BY_POOL: Final = "device pool"
_EVENT: Final = "DeviceTaintManagerEviction"


class DeviceTaintEvictionController(ManagedController):
    """Reconciles pods; a second queue reconciles the status of rules."""

    name: ClassVar[str] = "device-taint-eviction-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_device_taint_eviction_syncs)
        #: UIDs of pods with a scheduled eviction, by key.
        self._waiting: dict[str, str] = {}
        #: Responsible rules by pod key, for the counts in their conditions.
        self._responsible_rules: dict[str, frozenset[str]] = {}
        #: Numbers of evicted pods by name of existing rules.
        self._evicted: dict[str, int] = {}
        self._pods = self.watch(Pod, when=_matters)
        self._claims = self.watch(ResourceClaim, keys=plan.pod_keys)
        self._claims.add_index(_BY_POOL, plan.pools_of)
        self._slices = self.informer(ResourceSlice)
        self._slices.add_index(_BY_POOL, lambda slice_: (plan.pool_of(slice_),))
        self._slices.add_callback(self._slice_changed)
        self._rules: Informer[DeviceTaintRule] | None = None
        self._rule_queue = self.add_queue("device_taint_rules", self._reconcile_rule)
        if _SERVED in context.served:
            self._rules = self.informer(RULES)
            self._rules.add_callback(self._rule_changed)
        self._metrics = EvictionMetrics(context.metrics.registry, subsystem="device_taint_eviction_controller")

    # Event handlers

    def _slice_changed(self, change: Change[ResourceSlice]) -> None:
        pools = {plan.pool_of(change.latest)}
        if isinstance(change, Updated):
            pools.add(plan.pool_of(change.old))
            if len(pools) == 1 and plan.evicting_taints(change.old) == plan.evicting_taints(change.new):
                return
        for pool in pools:
            self._enqueue_pods(self._claims.lister.by_index(_BY_POOL, pool))

    def _rule_changed(self, change: Change[DeviceTaintRule]) -> None:
        rule = change.latest
        if isinstance(change, Deleted):
            self._evicted.pop(name_of(rule), None)
        elif isinstance(change, Updated) and change.old.spec == rule.spec:
            return
        else:
            self._rule_queue.add(name_of(rule))
        states = [rule, change.old] if isinstance(change, Updated) else [rule]
        for state in filter(plan.is_evicting, states):
            self._enqueue_pods(self._selected(state))

    def _selected(self, rule: DeviceTaintRule) -> list[ResourceClaim]:
        """Return the claims with a device that the rule selects."""
        claims = self._claims.lister
        return [claim for claim in claims if any(plan.selects(rule, result) for result in plan.results_of(claim))]

    def _enqueue_pods(self, claims: Iterable[ResourceClaim]) -> None:
        for claim in claims:
            for key in plan.pod_keys(claim):
                self.queue.add(key)

    # Pods

    async def reconcile(self, key: str) -> Result | None:
        """Evict the pod, schedule its eviction, or cancel it."""
        pod = self._pods.lister.by_key(key)
        eviction = None if pod is None else self._eviction(pod, list(self._rules.lister) if self._rules else ())
        self._enqueue_rules(key, eviction.rules if eviction is not None else frozenset())
        if pod is None or eviction is None:
            self._let_stay(key, pod)
            return None
        wait = (eviction.when - self.clock.now()).total_seconds()
        if wait > 0:
            self._waiting[key] = uid_of(pod)
            return Result(requeue_after_seconds=wait)
        await self._evict(pod, eviction)
        self._waiting.pop(key, None)
        return None

    def _eviction(self, pod: Pod, rules: Sequence[DeviceTaintRule]) -> plan.Eviction | None:
        if not node_of(pod) or not is_active(pod):
            return None
        namespace = namespace_of(pod)
        claims = claims_in_use(pod, lambda name: self._claims.lister.get(name, namespace=namespace))
        return plan.eviction(claims, lambda pool: self._slices.lister.by_index(_BY_POOL, pool), rules)

    def _enqueue_rules(self, key: str, rules: frozenset[str]) -> None:
        """Schedule a status update of the rules that evict or evicted the pod."""
        before = self._responsible_rules.pop(key, frozenset())
        if rules:
            self._responsible_rules[key] = rules
        for rule in rules | before:
            self._rule_queue.add_after(rule, PERIOD_SECONDS)

    def _let_stay(self, key: str, pod: Pod | None) -> None:
        uid = self._waiting.pop(key, None)
        if pod is not None and uid == uid_of(pod) and is_active(pod):
            self.events.event(pod, "Normal", _EVENT, "Cancelling deletion")

    async def _evict(self, pod: Pod, eviction: plan.Eviction) -> None:
        """Delete the pod. It is read from the server first, so that no event is recorded for a terminating one."""
        try:
            latest = await self.client.get(Pod, name_of(pod), namespace=namespace_of(pod))
            if uid_of(latest) != uid_of(pod) or is_being_deleted(latest):
                return
            self.events.event(latest, "Normal", _EVENT, "Marking for deletion")
            now = format_time(self.clock.now())
            patch = disruption_patch(latest, reason=plan.REASON, message=plan.MESSAGE, now=now)
            if patch is not None:
                await self.patch_pod_status(latest, patch)
            await self.client.delete_object(latest, uid=uid_of(latest))
        except NotFound:
            return
        self._metrics.record_deletion(latency_seconds=(self.clock.now() - eviction.when).total_seconds())
        for rule in eviction.rules:
            self._evicted[rule] = self._evicted.get(rule, 0) + 1

    # Rules

    async def _reconcile_rule(self, name: str) -> Result | None:
        """Update the status of a rule."""
        rule = self._rules.lister.get(name) if self._rules is not None else None
        if rule is None:
            self._evicted.pop(name, None)
            return None
        now = self.now()
        wait = seconds_to_update(rule, now=now)
        if wait > 0:
            return Result(requeue_after_seconds=wait)
        status = status_to_apply(rule, self._extent(rule), now=now)
        if status is not None:
            await self.client.apply(status, field_manager=self.name, force=True, subresource="status")
        return None

    def _extent(self, rule: DeviceTaintRule) -> RuleScope:
        """Return the scope of a rule; for another effect than NoExecute the pods that it would evict."""
        taint = msgspec.structs.replace(rule.spec.taint, effect=NO_EXECUTE)
        evicting = msgspec.structs.replace(rule, spec=msgspec.structs.replace(rule.spec, taint=taint))
        claims = self._selected(rule)
        keys = {key for claim in claims for key in plan.pod_keys(claim)}
        pods = [pod for key in keys if (pod := self._pods.lister.by_key(key)) is not None]
        affected = [pod for pod in pods if (eviction := self._eviction(pod, [evicting])) and eviction.rules]
        return RuleScope(
            pods=len(affected),
            namespaces=len({namespace_of(pod) for pod in affected}),
            published=self._published(rule),
            allocated=sum(plan.selects(rule, result) for claim in claims for result in plan.results_of(claim)),
            evicted=self._evicted.get(name_of(rule), 0),
        )

    def _published(self, rule: DeviceTaintRule) -> int:
        pools = {plan.pool_of(slice_) for slice_ in self._slices.lister}
        return sum(
            plan.is_selected(rule, driver=slice_.spec.driver, pool=slice_.spec.pool.name, device=device.name)
            for pool in pools
            for slice_ in plan.newest(self._slices.lister.by_index(_BY_POOL, pool))
            for device in slice_.spec.devices or ()
        )


def _matters(change: Change[Pod]) -> bool:
    """Report whether a pod event affects eviction: claims, Node, or deletion changed."""
    if not entries(change.latest):
        return False
    return not isinstance(change, Updated) or _relevant_state(change.old) != _relevant_state(change.new)


def _relevant_state(pod: Pod) -> tuple[object, ...]:
    return node_of(pod), is_active(pod), pod.status.resourceClaimStatuses if pod.status else None


def build(context: ControllerContext) -> DeviceTaintEvictionController:
    """Construct the controller."""
    return DeviceTaintEvictionController(context)
