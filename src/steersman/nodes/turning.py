"""Objects in their stages: which one each is in, when that is over, and the writes that turn it into the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.client.actions import note_action
from steersman.client.errors import Conflict, NotFound
from steersman.client.objects import name_of, namespace_of, uid_of
from steersman.client.requests import PatchType
from steersman.nodes.stages import choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.client.events.recorder import EventRecorder
    from steersman.client.informer import Informer
    from steersman.nodes.stages import Outcome, Stage
    from steersman.runtime.controller import Controller

    Tree = dict[str, Any]


class Pending(NamedTuple):
    """The stage that an object is in, and when it is over, by the monotonic clock."""

    version: str
    stage: Stage
    due: float


class Turning:
    """For one controller and the objects of one informer."""

    def __init__(
        self,
        controller: Controller,
        stages: Sequence[Stage],
        what: Any,
        informer: Informer[Tree],
        recorder: EventRecorder,
    ) -> None:
        self._controller = controller
        self._stages = stages
        self._what = what
        self._informer = informer
        self._recorder = recorder
        self._pending: dict[str, Pending] = {}

    def forget(self, uid: str) -> None:
        """The object is gone. Idempotent."""
        self._pending.pop(uid, None)

    def stage_of(self, obj: Tree) -> Pending | None:
        """The object's stage, chosen once for each of its states."""
        version, uid = obj["metadata"]["resourceVersion"], uid_of(obj)
        pending = self._pending.get(uid)
        if pending is not None and pending.version == version:
            return pending
        clock = self._controller.clock
        stage = choose(self._stages, obj, now=clock.now(), dice=self._controller.dice)
        if stage is None:
            self._pending.pop(uid, None)
            return None
        if pending is not None and pending.stage is stage and stage.delay.counts_once:
            due = pending.due  # the object has changed, but not its stage
        else:
            due = clock.monotonic() + stage.delay.length_seconds(obj, now=clock.now(), dice=self._controller.dice)
        made = self._pending[uid] = Pending(version, stage, due)
        return made

    def left_seconds(self, pending: Pending) -> float:
        """How long the stage lasts yet; not more than 0 when it is over."""
        return pending.due - self._controller.clock.monotonic()

    async def turn(self, key: str, obj: Tree, outcome: Outcome) -> None:
        """Do what a stage ends with: tell of it, change finalizers, write, delete."""
        if (pending := self._pending.get(uid_of(obj))) is not None:
            note_action(f"stage {pending.stage.name}")
        step: Outcome | None = outcome
        while step is not None:
            await self._do(key, obj, step)
            step = step.then
        self._pending.pop(uid_of(obj), None)  # the same stage may follow, and then lasts its time again

    async def _do(self, key: str, obj: Tree, outcome: Outcome) -> None:
        if outcome.event is not None:
            self._recorder.event(obj, *outcome.event)
        for *event, field_path in outcome.events:
            self._recorder.event(obj, *event, field_path=field_path)
        finalizers = _finalizers(obj, outcome)
        if finalizers is not None:
            await self.write(key, obj, {"metadata": {"finalizers": finalizers}}, "", PatchType.MERGE)
        if outcome.applied is not None:
            await self._controller.client.apply(
                outcome.applied, field_manager=self._controller.name, force=True,
                namespace=namespace_of(outcome.applied) or namespace_of(obj) or None,
            )  # fmt: skip
        if outcome.patch is not None:
            await self.write(key, obj, outcome.patch, outcome.subresource, outcome.patch_type)
        if outcome.delete:
            try:
                await self._controller.client.delete_object(obj, uid=uid_of(obj), grace_period_seconds=0)
            except (NotFound, Conflict):
                return

    async def write(
        self, key: str, obj: Tree, patch: Any, subresource: str, patch_type: PatchType = PatchType.STRATEGIC
    ) -> None:
        """Patch the object, if it still is the same one."""
        try:
            written = await self._controller.client.patch(
                self._what, name_of(obj), _of_same(obj, patch), patch_type=patch_type,
                namespace=namespace_of(obj) or None, subresource=subresource,
            )  # fmt: skip
        except (NotFound, Conflict):
            return
        self._controller.own_writes.note(key, self._informer, written)


def _of_same(obj: Tree, patch: Any) -> Any:
    if isinstance(patch, list):
        return [{"op": "test", "path": "/metadata/uid", "value": uid_of(obj)}, *patch]
    return {**patch, "metadata": {**(patch.get("metadata") or {}), "uid": uid_of(obj)}}


def _finalizers(obj: Tree, outcome: Outcome) -> list[str] | None:
    """The finalizers that the object is to have; None: as they are."""
    present = obj["metadata"].get("finalizers") or []
    wanted = [] if outcome.finalizers_emptied else [each for each in present if each not in outcome.finalizers_removed]
    wanted += [each for each in outcome.finalizers_added if each not in wanted]
    return None if wanted == present else wanted
