"""Controller of both kinds: watches objects and their Pods, claims Pods, and executes the plan."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final

from lightkube.models.core_v1 import Pod

from steersman.client.changes import Deleted
from steersman.client.client import resource_type
from steersman.client.errors import NotFound
from steersman.client.objects import (
    key_of,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from steersman.controllers.replication import plan
from steersman.controllers.shared.base import ManagedController
from steersman.controllers.shared.pod_control import RECHECK_SECONDS, PodControl
from steersman.runtime.dependents import candidates, index_dependents
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import controller_of, controller_reference
from steersman.runtime.references import ReferenceManager
from steersman.runtime.result import Result
from steersman.runtime.structs import replaced
from steersman.workloads.pod_events import PodEvents
from steersman.workloads.pods import (
    is_active,
    is_terminating,
    pod_from_template,
    seconds_to_available,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from steersman.apimachinery.selectors import LabelSelector
    from steersman.client.changes import Change
    from steersman.client.informer import Informer
    from steersman.controllers.context import ControllerContext
    from steersman.runtime.owners import Owner

#: Attempts to write a status in one reconcile.
STATUS_TRIES: Final = 2


class BaseReplicationController(ManagedController):
    """Base of controllers that maintain a number of Pods. Subclasses define the differences between the kinds."""

    model: ClassVar[type[Any]]
    #: Condition class of the kind.
    condition: ClassVar[type[Any]]

    def __init__(self, context: ControllerContext, *, workers: int) -> None:
        super().__init__(context, workers=workers)
        info = resource_type(self.model).info
        self._api_version: Final = info.api_version
        self._kind: Final = info.kind
        self.objects: Final[Informer[Any]] = self.informer(self.model)
        self.pods: Final[Informer[Pod]] = self.informer(Pod)
        self.pod_control: Final = PodControl(self, self.pods)
        self.expectations: Final = self.pod_control.expectations
        index_dependents(self.pods)
        self.objects.add_callback(self._object_changed)
        events: PodEvents[Any] = PodEvents(
            self, self.objects, self.expectations, kind=self._kind, selector_of=self.selector_of
        )
        self.pods.add_callback(events.changed)

    # Hooks of a kind

    @abstractmethod
    def selector_of(self, obj: Any) -> LabelSelector:
        """Return the Pod selector. Raises SelectorError."""

    @abstractmethod
    def status_of(self, obj: Any) -> plan.Status:
        """Return the stored status."""

    @abstractmethod
    def status_struct(self, status: plan.Status) -> Any:
        """Return the status as a struct of the kind."""

    def related_pods(self, obj: Any) -> Sequence[Pod]:
        """Return Pods of siblings and of the object, for the deletion order; empty for kinds without siblings."""
        return ()

    def terminating(self, pods: Iterable[Pod], obj: Any, selector: LabelSelector) -> int | None:
        """Return the number of terminating Pods; None if the kind does not report it."""
        return None

    # Event handlers

    def _object_changed(self, change: Change[Any]) -> None:
        if isinstance(change, Deleted):
            self.pod_control.forget(key_of(change.old))
        self.enqueue_change(change)

    # Reconcile

    async def reconcile(self, key: str) -> Result | None:
        """Create or delete Pods until ``spec.replicas`` match, then update the status."""
        obj = self.objects.lister.by_key(key)
        if obj is None:
            self.pod_control.forget(key)
            return None
        selector = self.selector_of(obj)
        pods = candidates(self.pods.lister, obj)
        may_write = await self.pod_control.is_up_to_date(key, pods) and not is_being_deleted(obj)
        active = await self._claim(obj, [pod for pod in pods if is_active(pod)], selector)
        now = self.clock.now()
        failure = await self._manage(key, obj, active, now) if may_write else None
        counts = plan.observe(
            active,
            self.terminating((pod for pod in pods if is_terminating(pod)), obj, selector),
            template_labels=labels_of(obj.spec.template),
            min_ready_seconds=obj.spec.minReadySeconds or 0,
            now=now,
        )
        await self._write_status(key, obj, counts, failure)
        if failure is not None:
            raise failure
        if not self.expectations.satisfied(key):
            return Result(requeue_after_seconds=RECHECK_SECONDS)
        return self._resync(obj, active, counts)

    async def _claim(self, obj: Any, pods: Sequence[Pod], selector: LabelSelector) -> list[Pod]:
        references = ReferenceManager(self.client, obj, controller_resource=self.model, dependents=Pod)
        return await references.claim(pods, lambda pod: selector.matches(labels_of(pod)))

    async def _manage(self, key: str, obj: Any, active: Sequence[Pod], now: datetime) -> Exception | None:
        """Create or delete Pods; return the error, if any."""
        planned = plan.plan_replicas(active, self.desired_replicas(obj), related=self.related_pods(obj), now=now)
        if planned.create:
            return await self._create(key, obj, planned.create)
        if planned.delete:
            return await self._delete(key, obj, planned.delete)
        return None

    def desired_replicas(self, obj: Any) -> int:
        """Return ``spec.replicas``."""
        return 1 if obj.spec.replicas is None else int(obj.spec.replicas)

    async def _create(self, key: str, obj: Any, count: int) -> Exception | None:
        reference = controller_reference(obj, api_version=self._api_version, kind=self._kind)
        pod = pod_from_template(
            obj.spec.template, owner_name=name_of(obj), namespace=namespace_of(obj), controller=reference
        )
        self.expectations.expect(key, creations=count)
        return (await self.pod_control.create(key, obj, [pod] * count)).error

    async def _delete(self, key: str, obj: Any, pods: Sequence[Pod]) -> Exception | None:
        self.expectations.expect(key, deletions=map(uid_of, pods))
        return (await self.pod_control.delete(key, obj, pods)).error

    async def _write_status(self, key: str, obj: Any, counts: plan.Counts, failure: Exception | None) -> None:
        old = self.status_of(obj)
        new = plan.plan_status(
            old,
            counts,
            desired_replicas=self.desired_replicas(obj),
            failure=None if failure is None else str(failure),
            new_condition=self.condition,
            now=self.now(),
        )
        generation = obj.metadata.generation or 0
        if not plan.needs_write(old, new, generation):
            return
        written = await self._update_status(obj, self.status_struct(new.about(generation)))
        if written is not None:
            self.own_writes.note(key, self.objects, written)

    async def _update_status(self, obj: Any, status: Any) -> Any:
        """Write the status and return the object; None if it does not exist.

        A failure is retried once with the live object.
        """
        latest = obj
        for tries_left in reversed(range(STATUS_TRIES)):
            try:
                return await self.client.update_status(replaced(latest, status=status))
            except NotFound:
                return None
            except Exception:
                if not tries_left:
                    raise
            latest = await self._fresh(obj)
            if latest is None:
                return None
        return None

    async def _fresh(self, obj: Any) -> Any:
        """Return the live object; None if it does not exist or was recreated."""
        try:
            live = await self.client.get(self.model, name_of(obj), namespace=namespace_of(obj))
        except NotFound:
            return None
        return live if uid_of(live) == uid_of(obj) else None

    def _resync(self, obj: Any, active: Sequence[Pod], counts: plan.Counts) -> Result | None:
        least = obj.spec.minReadySeconds or 0
        seconds = plan.resync_seconds(
            counts,
            min_ready_seconds=least,
            next_available_seconds=seconds_to_available(active, least, now=self.clock.now()),
        )
        return None if seconds is None else Result(requeue_after_seconds=seconds)

    def is_owned(self, pod: Pod, obj: Any) -> bool:
        """Report whether ``obj`` controls the Pod."""
        owner: Owner | None = controller_of(pod)
        return owner is not None and owner.uid == uid_of(obj)
