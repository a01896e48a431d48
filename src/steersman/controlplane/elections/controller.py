"""Runs elections: looks at Leases and candidates when they change, and when a decision said to look again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import is_already_exists, is_conflict, is_not_found
from steersman.client.errors import ApiError, ClientError
from steersman.client.objects import key_of
from steersman.controlplane.elections.kinds import CANDIDATES, LEASES
from steersman.controlplane.elections.metrics import ElectionMetrics
from steersman.controlplane.elections.objects import read_candidate, read_lease
from steersman.controlplane.elections.roll import VALID
from steersman.controlplane.elections.step import WARNINGS, Create, Decision, Reason, Take, decide
from steersman.controlplane.elections.writes import lease_patch, new_lease, ping
from steersman.runtime.controller import Controller
from steersman.runtime.periodic import run_every
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.client.changes import Change
    from steersman.controlplane.elections.objects import Candidate, Lease
    from steersman.runtime.context import ControllerContext

    Tree = dict[str, Any]

#: Elections under way at a time; each is a few requests.
_WORKERS: Final = 4
#: A candidate that could not be asked is asked again so soon.
_ASK_AGAIN_SECONDS: Final = 1.0
#: As often as upstream removes candidates that are no more valid.
_COLLECT_SECONDS: Final = 3600.0

#: Decisions that change nothing, and are only counted.
_QUIET: Final = frozenset({
    Reason.NO_CANDIDATES, Reason.WAITING, Reason.FOREIGN_STRATEGY, Reason.HOLDER_IS_BEST, Reason.HAND_OVER_PENDING,
})  # fmt: skip


class ElectionController(Controller):
    """One key is one Lease, ``namespace/name``, whether or not it exists. Any number of servers may run it."""

    name: ClassVar[str] = "leader-election-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=_WORKERS)
        self._counts = ElectionMetrics(context.metrics.registry)
        self._candidates = self.watch(CANDIDATES, keys=leases_of)
        self._candidates.add_index("lease", leases_of)
        self._leases = self.watch(LEASES, when=self._is_contested)
        #: The last decision that was told of each Lease with candidates, so that a lasting state makes one event.
        self._told: dict[str, tuple[Reason, str]] = {}

    async def reconcile(self, key: str) -> Result | None:
        """One step for one Lease."""
        candidates = {one.name: one for one in map(read_candidate, self._candidates.lister.by_index("lease", key))}
        found = self._leases.lister.by_key(key)
        lease = None if found is None else read_lease(found)
        decision = decide(lease, candidates.values(), now=self.clock.now())
        self._counts.decisions.labels(decision.reason).inc()
        written = await self._write(key, lease, decision)
        asked = await self._ask(key, [candidates[name] for name in decision.ask])
        self._tell(key, decision, written or found)
        if not asked:
            return Result(requeue_after_seconds=_ASK_AGAIN_SECONDS)
        if decision.look_again is None:
            return None
        return Result(requeue_after_seconds=(decision.look_again - self.clock.now()).total_seconds())

    async def collect(self) -> None:
        """Remove candidates that take no part any more, every hour, until cancelled."""
        await run_every(
            _COLLECT_SECONDS, self._collect_once, clock=self.clock, dice=self.dice, log=self.log, jitter=0.1
        )

    # -- writing ------------------------------------------------------------------------------------------------------

    async def _ask(self, key: str, candidates: Sequence[Candidate]) -> bool:
        """Ask all at once; whether all could be asked, or need not be any more."""
        namespace = key.partition("/")[0]
        patch = self.client.patch
        now = self.clock.now()
        answers = await asyncio.gather(
            *(patch(CANDIDATES, one.name, ping(one, now=now), namespace=namespace) for one in candidates),
            return_exceptions=True,
        )
        good = True
        for one, answer in zip(candidates, answers, strict=True):
            match answer:
                case ApiError() if is_conflict(answer) or is_not_found(answer):
                    self._counts.pings.labels(
                        "answered"
                    ).inc()  # it changed meanwhile: that is an answer, or a farewell
                case ClientError():
                    self._counts.pings.labels("failed").inc()
                    self.log.warning("cannot ask candidate %s for %s: %s", one.name, key, answer)
                    good = False
                case BaseException():
                    raise answer
                case _:
                    self._counts.pings.labels("sent").inc()
                    self.own_writes.note(key, self._candidates, answer)
        return good

    async def _write(self, key: str, lease: Lease | None, decision: Decision) -> Tree | None:
        """The Lease as it is after the decision; None when nothing is to be written. Raises ``ApiError``."""
        write, now = decision.write, self.clock.now()
        if write is None:
            return None
        namespace, _, name = key.partition("/")
        try:
            if isinstance(write, Create):
                written = await self.client.create(new_lease(write, namespace=namespace, name=name, now=now))
            else:
                assert lease is not None
                patch = lease_patch(write, lease, now=now)
                written = await self.client.patch(LEASES, name, patch, namespace=namespace)
        except ApiError as error:
            if is_conflict(error) or is_already_exists(error):
                self._counts.lost_races.inc()
            raise
        self.own_writes.note(key, self._leases, written)
        if isinstance(write, Create | Take) and write.holder:
            self._counts.leader_changes.labels(namespace, name).inc()
        return written

    async def _collect_once(self) -> None:
        now = self.clock.now()
        for found in list(self._candidates.lister):
            candidate = read_candidate(found)
            if max(candidate.renewed or candidate.created, candidate.created) + VALID >= now:
                continue
            metadata = found["metadata"]
            try:
                await self.client.delete_object(
                    found, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
                )
                self._counts.collected.inc()
            except ApiError as error:
                if not (is_conflict(error) or is_not_found(error)):
                    raise

    # -- telling ------------------------------------------------------------------------------------------------------

    def _tell(self, key: str, decision: Decision, about: Tree | None) -> None:
        if decision.reason is Reason.NO_CANDIDATES:
            self._told.pop(key, None)
            return
        what = (decision.reason, decision.why)
        is_news = self._told.get(key) != what or decision.write is not None
        self._told[key] = what
        if not is_news or decision.reason in _QUIET:
            return
        namespace, _, name = key.partition("/")
        lease = about or {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": namespace, "name": name},
        }
        kind = "Warning" if decision.reason in WARNINGS else "Normal"
        self.recorder.event(lease, kind, decision.reason, decision.why)
        self.log.info("%s: %s: %s", key, decision.reason, decision.why)

    def _is_contested(self, change: Change[Tree]) -> bool:
        """Most Leases are heartbeats that nobody contends for."""
        return bool(self._candidates.lister.by_index("lease", key_of(change.latest)))


def leases_of(candidate: Tree) -> Iterable[str]:
    """The key of the Lease that a candidate wants."""
    name = (candidate.get("spec") or {}).get("leaseName")
    return [f"{candidate['metadata'].get('namespace', '')}/{name}"] if name else []
