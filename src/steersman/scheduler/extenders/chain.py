"""Chain of a scheduler's extenders, for the scheduling cycle and the binding cycle.

Extenders that are not ignorable come first. Upstream: ``findNodesThatPassExtenders``, ``prioritizeNodes`` and
``extendersBinding`` in pkg/scheduler/schedule_one.go, ``callExtenders`` in
pkg/scheduler/framework/preemption/preemption.go.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from steersman.scheduler.extenders.http_extender import connect
from steersman.scheduler.extenders.wire import PRIORITY_MAX
from steersman.scheduler.framework import EXTENDER, SCORE_MAX, ExtenderError, Rejection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.asynckit.clock import Clock
    from steersman.scheduler.configuration.extenders import ExtenderSettings
    from steersman.scheduler.extenders.http_extender import HTTPExtender
    from steersman.scheduler.framework import Victims
    from steersman.scheduler.node_info import NodeInfo
    from steersman.scheduler.pod_info import PodInfo
    from steersman.scheduler.snapshot import Snapshot

_log = logging.getLogger(__name__)

_SCALE: Final = SCORE_MAX // PRIORITY_MAX


class ExtenderChain:
    """Extenders in order; implements ``framework.Extenders``."""

    def __init__(self, extenders: Iterable[HTTPExtender]) -> None:
        self._extenders: Final = sorted(extenders, key=lambda extender: extender.settings.ignorable)
        self._filters: Final = [extender for extender in self._extenders if extender.settings.filter_verb]
        self._prioritizers: Final = [extender for extender in self._extenders if extender.settings.prioritize_verb]
        self._preemptors: Final = [extender for extender in self._extenders if extender.settings.preempt_verb]
        self._binders: Final = [extender for extender in self._extenders if extender.settings.bind_verb]

    @property
    def has_filters(self) -> bool:
        return bool(self._filters)

    @property
    def has_prioritizers(self) -> bool:
        return bool(self._prioritizers)

    async def filter(
        self, pod: PodInfo, nodes: Sequence[NodeInfo], rejections: dict[str, Rejection]
    ) -> Sequence[NodeInfo]:
        for extender in self._filters:
            if not nodes:
                break
            if not extender.is_interested(pod):
                continue
            try:
                passed, result = await extender.filter(pod, nodes)
            except ExtenderError as error:
                if not extender.settings.ignorable:
                    raise
                _log.info("skipping extender %s, which is ignorable: %s", extender.name, error)
                continue
            for name, message in {**result.failed, **result.unresolvable}.items():
                rejections[name] = Rejection(EXTENDER, (message,), resolvable=name not in result.unresolvable)
            nodes = passed
        return nodes

    async def prioritize(self, pod: PodInfo, nodes: Sequence[NodeInfo]) -> dict[str, int]:
        prioritizers = [extender for extender in self._prioritizers if extender.is_interested(pod)]
        outcomes = await asyncio.gather(*(_prioritize(extender, pod, nodes) for extender in prioritizers))
        totals: dict[str, int] = {}
        for extender, priorities in zip(prioritizers, outcomes, strict=True):
            for node, score in priorities:
                totals[node] = totals.get(node, 0) + score * extender.settings.weight * _SCALE
        return totals

    async def process_preemption(
        self, pod: PodInfo, candidates: Sequence[Victims], cluster: Snapshot
    ) -> Sequence[Victims]:
        for extender in self._preemptors:
            if not candidates:
                break
            if not extender.is_interested(pod):
                continue
            try:
                proposed = await extender.process_preemption(pod, candidates, cluster)
            except ExtenderError as error:
                if not extender.settings.ignorable:
                    raise
                _log.info("skipping extender %s, which is ignorable: %s", extender.name, error)
                continue
            candidates = proposed
        return candidates

    async def bind(self, pod: PodInfo, node: str) -> bool:
        """Have the pod bound by the first interested extender; return False if the scheduler is to bind it.

        Raises ``ExtenderError``.
        """
        for extender in self._binders:
            if not extender.is_interested(pod):
                continue
            try:
                await extender.bind(pod, node)
            except ExtenderError as error:
                if not extender.settings.ignorable:
                    raise
                _log.info("skipping extender %s in bind, which is ignorable: %s", extender.name, error)
                continue
            return True
        return False

    async def close(self) -> None:
        """Close all connections."""
        for extender in self._extenders:
            await extender.close()


async def _prioritize(extender: HTTPExtender, pod: PodInfo, nodes: Sequence[NodeInfo]) -> list[tuple[str, int]]:
    """Return the extender's scores; an error costs no more than these, ignorable or not."""
    try:
        return await extender.prioritize(pod, nodes)
    except ExtenderError as error:
        _log.info("extender %s gives no scores: %s", extender.name, error)
        return []


def connect_extenders(settings: Iterable[ExtenderSettings], *, clock: Clock) -> ExtenderChain:
    """Return the extenders of a configuration. Raises ``ConfigError``, OSError for their certificates."""
    return ExtenderChain([connect(extender, clock=clock) for extender in settings])
