"""Controller of coordinated leader election.

Runs ``step.decide`` on changes of Leases and candidates, and writes the result.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar, Final

from steersman.client.errors import AlreadyExists, ClientError, Conflict, NotFound
from steersman.client.objects import key_of
from steersman.controlplane.elections.departures import Departures
from steersman.controlplane.elections.kinds import CANDIDATES, LEASES
from steersman.controlplane.elections.liveness import VALID
from steersman.controlplane.elections.metrics import ElectionMetrics
from steersman.controlplane.elections.objects import read_candidate, read_lease
from steersman.controlplane.elections.step import WARNINGS, Assign, Create, Decision, Reason, decide
from steersman.controlplane.elections.writes import lease_patch, new_lease, ping
from steersman.runtime.controller import Controller
from steersman.runtime.periodic import run_every
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.client.changes import Change
    from steersman.controlplane.elections.objects import Candidate, Lease
    from steersman.runtime.context import ControllerContext


#: Concurrent elections; each sends a few requests.
_WORKERS: Final = 4
#: Delay before a failed ping is retried.
_PING_RETRY_SECONDS: Final = 1.0
#: Upstream: ``leaseCandidateGCController``'s interval.
_COLLECT_SECONDS: Final = 3600.0

#: Reasons that cause no event, only a metric.
_SILENT_REASONS: Final = frozenset({
    Reason.NO_CANDIDATES, Reason.WAITING, Reason.FOREIGN_STRATEGY, Reason.HOLDER_IS_BEST, Reason.HAND_OVER_PENDING,
})  # fmt: skip


class ElectionController(Controller):
    """Reconciles one Lease per key ``namespace/name``, existing or not. Any number of servers may run it."""

    name: ClassVar[str] = "leader-election-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=_WORKERS)
        self._counts = ElectionMetrics(context.metrics.registry)
        self._candidates = self.watch(CANDIDATES, keys=leases_of)
        self._candidates.add_index("lease", leases_of)
        self._leases = self.watch(LEASES, when=self._is_contested)
        #: Last reported decision per Lease with candidates, so that an unchanged state makes one event.
        self._reported: dict[str, tuple[Reason, str]] = {}
        self._departures: defaultdict[str, Departures] = defaultdict(Departures)

    async def reconcile(self, key: str) -> Result | None:
        """Run one step for one Lease."""
        candidates = {
            candidate.name: candidate
            for candidate in map(read_candidate, self._candidates.lister.by_index("lease", key))
        }
        stored = self._leases.lister.by_key(key)
        lease, now = None if stored is None else read_lease(stored), self.clock.now()
        departed = self._departures[key].update(lease, candidates, now=now)
        decision = decide(lease, candidates.values(), now=now, departed=departed)
        self._counts.decisions.labels(decision.reason).inc()
        written = await self._write(key, lease, decision)
        is_complete = await self._ping(key, [candidates[name] for name in decision.ask])
        self._report(key, decision, written or stored)
        if not is_complete:
            return Result(requeue_after_seconds=_PING_RETRY_SECONDS)
        if decision.next_check is None:
            return None
        return Result(requeue_after_seconds=(decision.next_check - self.clock.now()).total_seconds())

    async def collect(self) -> None:
        """Delete expired candidates every hour, until cancelled."""
        await run_every(
            _COLLECT_SECONDS, self._collect_once, clock=self.clock, dice=self.dice, log=self.log, jitter=0.1
        )

    # -- writing ------------------------------------------------------------------------------------------------------

    async def _ping(self, key: str, candidates: Sequence[Candidate]) -> bool:
        """Ping candidates concurrently; return False if a ping must be retried."""
        namespace = key.partition("/")[0]
        patch = self.client.patch
        now = self.clock.now()
        results = await asyncio.gather(
            *(
                patch(CANDIDATES, candidate.name, ping(candidate, now=now), namespace=namespace)
                for candidate in candidates
            ),
            return_exceptions=True,
        )
        is_complete = True
        for candidate, result in zip(candidates, results, strict=True):
            match result:
                case Conflict() | NotFound():
                    # The candidate changed meanwhile: it renewed or was deleted.
                    self._counts.pings.labels("answered").inc()
                case ClientError():
                    self._counts.pings.labels("failed").inc()
                    self.log.warning("cannot ask candidate %s for %s: %s", candidate.name, key, result)
                    is_complete = False
                case BaseException():
                    raise result
                case _:
                    self._counts.pings.labels("sent").inc()
                    self.own_writes.note(key, self._candidates, result)
        return is_complete

    async def _write(self, key: str, lease: Lease | None, decision: Decision) -> Tree | None:
        """Write the decision and return the Lease; None if there is nothing to write. Raises ``ApiError``."""
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
        except (Conflict, AlreadyExists):
            self._counts.lost_races.inc()
            raise
        self.own_writes.note(key, self._leases, written)
        if isinstance(write, Create | Assign) and write.holder:
            self._counts.leader_changes.labels(namespace, name).inc()
        return written

    async def _collect_once(self) -> None:
        now = self.clock.now()
        for stored in list(self._candidates.lister):
            candidate = read_candidate(stored)
            if max(candidate.renewed or candidate.created, candidate.created) + VALID >= now:
                continue
            metadata = stored["metadata"]
            try:
                await self.client.delete_object(
                    stored, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
                )
                self._counts.collected.inc()
            except (Conflict, NotFound):
                continue

    # -- reporting ----------------------------------------------------------------------------------------------------

    def _report(self, key: str, decision: Decision, about: Tree | None) -> None:
        if decision.reason is Reason.NO_CANDIDATES:
            self._reported.pop(key, None)
            self._departures.pop(key, None)
            return
        report = (decision.reason, decision.message)
        has_changed = self._reported.get(key) != report or decision.write is not None
        self._reported[key] = report
        if not has_changed or decision.reason in _SILENT_REASONS:
            return
        namespace, _, name = key.partition("/")
        lease = about or {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": namespace, "name": name},
        }
        kind = "Warning" if decision.reason in WARNINGS else "Normal"
        self.recorder.event(lease, kind, decision.reason, decision.message)
        self.log.info("%s: %s: %s", key, decision.reason, decision.message)

    def _is_contested(self, change: Change[Tree]) -> bool:
        """Report whether the Lease has candidates; most Leases are heartbeats."""
        return bool(self._candidates.lister.by_index("lease", key_of(change.latest)))


def leases_of(candidate: Tree) -> Iterable[str]:
    """Return the key of the Lease of a candidate."""
    name = (candidate.get("spec") or {}).get("leaseName")
    return [f"{candidate['metadata'].get('namespace', '')}/{name}"] if name else []
