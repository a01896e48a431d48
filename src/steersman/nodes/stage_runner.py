"""Stage runner: tracks the pending stage of each object and performs its transition when due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.client.actions import note_action
from steersman.client.errors import ApiError, NotFound
from steersman.client.objects import name_of, namespace_of, uid_of
from steersman.client.requests import PatchType
from steersman.nodes.stages import Outcome, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.client.events.recorder import EventRecorder
    from steersman.client.informer import Informer
    from steersman.nodes.stages import Stage
    from steersman.runtime.controller import Controller


class Pending(NamedTuple):
    """The stage of an object and its due time on the monotonic clock."""

    version: str
    stage: Stage
    due: float


@dataclass(slots=True)
class _Unfinished:
    """A transition whose write failed; the next reconcile continues it."""

    pending: Pending
    #: Remaining actions; the first one failed.
    actions: list[Outcome]
    #: True if an action has succeeded, so that the object may match no stage, or another.
    is_partial: bool


class StageRunner:
    """Stage runner of one controller and one informer.

    A failed write raises, so that the controller's queue retries the reconcile with backoff. The transition is then
    computed again from the latest object. If some of its actions succeeded, the remaining ones are repeated unchanged
    (upstream KWOK repeats the whole resource job). Its events are recorded once.
    """

    def __init__(
        self,
        controller: Controller,
        stages: Sequence[Stage],
        resource_type: Any,
        informer: Informer[Tree],
        recorder: EventRecorder,
        *,
        allows_event: Callable[[], bool] = lambda: True,
    ) -> None:
        """``allows_event`` is called before each additional event of the type Normal, which is dropped if it returns False."""
        self._controller = controller
        self._stages = stages
        self._resource_type = resource_type
        self._informer = informer
        self._recorder = recorder
        self._allows_event = allows_event
        self._pending: dict[str, Pending] = {}
        self._unfinished: dict[str, _Unfinished] = {}

    def forget(self, uid: str) -> None:
        """Drop the state of a deleted object. Idempotent."""
        self._pending.pop(uid, None)
        self._unfinished.pop(uid, None)

    def stage_of(self, obj: Tree) -> Pending | None:
        """Return the pending stage of an object, chosen once per resource version; None if no stage matches."""
        version, uid = obj["metadata"]["resourceVersion"], uid_of(obj)
        unfinished = self._unfinished.get(uid)
        if unfinished is not None and unfinished.is_partial:
            return unfinished.pending
        pending = self._pending.get(uid)
        if pending is not None and pending.version == version:
            return pending
        clock = self._controller.clock
        stage = choose(self._stages, obj, now=clock.now(), dice=self._controller.dice)
        if stage is None:
            self._pending.pop(uid, None)
            return None
        if pending is not None and pending.stage is stage and stage.delay.is_counted_once:
            due = pending.due  # the object changed within its stage
        else:
            due = clock.monotonic() + stage.delay.length_seconds(obj, now=clock.now(), dice=self._controller.dice)
        chosen = self._pending[uid] = Pending(version, stage, due)
        return chosen

    def remaining_seconds(self, pending: Pending) -> float:
        """Return the seconds until the stage is due; 0 or less when it is."""
        return pending.due - self._controller.clock.monotonic()

    async def run(self, key: str, obj: Tree, outcome: Outcome, *, host: str = "") -> None:
        """Perform a transition: record events, change finalizers, apply, patch, delete. ``host``: source of the events.

        Raises the ``ClientError`` of the write that failed; the reconcile must propagate it, so that it is called
        again.
        """
        uid = uid_of(obj)
        pending, unfinished = self._pending.get(uid), self._unfinished.pop(uid, None)
        is_partial = unfinished is not None and unfinished.is_partial
        if unfinished is not None and is_partial:
            pending, actions = unfinished.pending, unfinished.actions
        else:
            actions = list(_actions(outcome))
            if unfinished is None or unfinished.pending is not pending:
                self._record(obj, outcome, self._recorder.on_host(host) if host else self._recorder)
        if pending is not None:
            note_action(f"stage {pending.stage.name}")
        for index, action in enumerate(actions):
            try:
                await self._perform(key, obj, action)
            except Exception as error:
                if pending is not None:
                    is_partial = _is_temporary(error) and (is_partial or index > 0)
                    self._unfinished[uid] = _Unfinished(pending, actions[index:], is_partial)
                raise
        self._pending.pop(uid, None)  # the same stage may match again, with a new delay

    def _record(self, obj: Tree, outcome: Outcome | None, recorder: EventRecorder) -> None:
        while outcome is not None:
            if outcome.event is not None:
                recorder.event(obj, *outcome.event)
            for event_type, *event, field_path in outcome.events:
                if event_type != "Normal" or self._allows_event():
                    recorder.event(obj, event_type, *event, field_path=field_path)
            outcome = outcome.then

    async def _perform(self, key: str, obj: Tree, action: Outcome) -> None:
        finalizers = _finalizers(obj, action)
        if finalizers is not None:
            await self.write(key, obj, {"metadata": {"finalizers": finalizers}}, "", PatchType.MERGE)
        if action.applied is not None:
            await self._controller.client.apply(
                action.applied, field_manager=self._controller.name, force=True,
                namespace=namespace_of(action.applied) or namespace_of(obj) or None,
            )  # fmt: skip
        if action.patch is not None:
            await self.write(key, obj, action.patch, action.subresource, action.patch_type)
        if action.delete:
            try:
                await self._controller.client.delete_object(obj, uid=uid_of(obj), grace_period_seconds=0)
            except NotFound:
                return

    async def write(
        self, key: str, obj: Tree, patch: Any, subresource: str, patch_type: PatchType = PatchType.STRATEGIC
    ) -> None:
        """Patch the object if it still exists. Raises ``ClientError``, also if the UID differs."""
        try:
            written = await self._controller.client.patch(
                self._resource_type, name_of(obj), _with_uid_precondition(obj, patch), patch_type=patch_type,
                namespace=namespace_of(obj) or None, subresource=subresource,
            )  # fmt: skip
        except NotFound:
            return
        self._controller.own_writes.note(key, self._informer, written)


def _is_temporary(error: Exception) -> bool:
    """True if the same request may succeed later; a request that the server rejects as invalid must be recomputed."""
    return not isinstance(error, ApiError) or error.code in (409, 429) or error.code >= 500


def _actions(outcome: Outcome | None) -> Iterator[Outcome]:
    """Split a chain of outcomes into single writes, in order; each can be retried alone."""
    while outcome is not None:
        if outcome.finalizers_added or outcome.finalizers_removed or outcome.finalizers_emptied:
            yield Outcome(
                finalizers_added=outcome.finalizers_added,
                finalizers_removed=outcome.finalizers_removed,
                finalizers_emptied=outcome.finalizers_emptied,
            )
        if outcome.applied is not None:
            yield Outcome(applied=outcome.applied)
        if outcome.patch is not None:
            yield Outcome(patch=outcome.patch, patch_type=outcome.patch_type, subresource=outcome.subresource)
        if outcome.delete:
            yield Outcome(delete=True)
        outcome = outcome.then


def _with_uid_precondition(obj: Tree, patch: Any) -> Any:
    if isinstance(patch, list):
        return [{"op": "test", "path": "/metadata/uid", "value": uid_of(obj)}, *patch]
    return {**patch, "metadata": {**(patch.get("metadata") or {}), "uid": uid_of(obj)}}


def _finalizers(obj: Tree, outcome: Outcome) -> list[str] | None:
    """Return the desired finalizers of the object; None: unchanged."""
    present = obj["metadata"].get("finalizers") or []
    desired = (
        []
        if outcome.finalizers_emptied
        else [finalizer for finalizer in present if finalizer not in outcome.finalizers_removed]
    )
    desired += [finalizer for finalizer in outcome.finalizers_added if finalizer not in desired]
    return None if desired == present else desired
