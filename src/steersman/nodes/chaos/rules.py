"""Pod annotations and node outages that follow from chaos rules.

A rule acts through the annotations of ``steersman.nodes.simulation.behavior``, as if the pod had them; the pod's own
annotations take precedence. All draws are hashes of the seed, the rule and the names of objects, so two runs with the
same seed and the same names fail in the same way, and a restarted process continues.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.timestamps import parse_time
from steersman.nodes.simulation import behavior

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.chaos.format import Rule


STOP_NODE: Final = "stop-node"
_EVICT: Final = "evict"
_AFTER: Final = {
    "crash": behavior.CRASH_AFTER, "oom": behavior.OOM_AFTER, "hang": behavior.HANG_AFTER,
    "not-ready": behavior.UNREADY_AFTER, _EVICT: behavior.EVICT_AFTER,
}  # fmt: skip


class Chaos:
    """Rules of one file. Deterministic and without side effects."""

    def __init__(self, seed: int = 0, rules: Sequence[Rule] = ()) -> None:
        self._seed = seed
        self._pod_rules = [rule for rule in rules if rule.failure != STOP_NODE]
        self._node_rules = [rule for rule in rules if rule.failure == STOP_NODE]

    @property
    def concerns_pods(self) -> bool:
        """True if any rule applies to pods."""
        return bool(self._pod_rules)

    @property
    def concerns_nodes(self) -> bool:
        """True if any rule applies to nodes."""
        return bool(self._node_rules)

    def _draw(self, rule: Rule, *parts: object) -> float:
        """Return a number in [0, 1)."""
        text = "\0".join(map(str, (self._seed, rule.name, *parts)))
        return int.from_bytes(blake2b(text.encode(), digest_size=7).digest()) / 2**56

    # Pods

    def with_annotations(self, pod: Tree, node: Tree) -> Tree:
        """Return the pod with the annotations of the rules added."""
        metadata = pod["metadata"]
        own = metadata.get("annotations") or {}
        added: dict[str, str] = {}
        for rule in self._pod_rules:
            if self._selects(rule, pod, node):
                for name, container, value in self._annotations(rule, pod):
                    key = f"{name}.{container}" if container else name
                    if name not in own and key not in own:
                        added.setdefault(key, value)
        return {**pod, "metadata": {**metadata, "annotations": {**own, **added}}} if added else pod

    def _selects(self, rule: Rule, pod: Tree, node: Tree) -> bool:
        metadata, select = pod["metadata"], rule.select
        labels = metadata.get("labels") or {}
        return (
            _matches(select.namespaces, metadata.get("namespace", ""))
            and _matches(select.names, metadata["name"])
            and all(labels.get(key) == value for key, value in select.labels.items())
            and _selects_node(rule, node)
            and self._draw(rule, metadata.get("namespace", ""), metadata["name"]) < rule.probability
        )

    def _annotations(self, rule: Rule, pod: Tree) -> Iterator[tuple[str, str, str]]:
        """Yield annotation, container and value."""
        if rule.failure == _EVICT:
            yield behavior.EVICT_AFTER, "", str(self._after(rule, pod, "", 0))
            if rule.resource:
                yield behavior.EVICT_RESOURCE, "", rule.resource
            return
        restarts = {
            container_status.get("name"): container_status.get("restartCount", 0)
            for kind in ("containerStatuses", "initContainerStatuses")
            for container_status in (pod.get("status") or {}).get(kind) or ()
        }
        for container in _containers(rule, pod):
            name = container["name"]
            count = restarts.get(name, 0)
            if rule.times is None or count < rule.times:
                for key, value in self._of_container(rule, pod, name, count):
                    yield key, name, value

    def _of_container(self, rule: Rule, pod: Tree, name: str, restarts: int) -> Iterator[tuple[str, str]]:
        if rule.failure in _AFTER:
            yield _AFTER[rule.failure], str(self._after(rule, pod, name, restarts))
        match rule.failure:
            case "image-pull":
                yield behavior.IMAGE_PULL_ERROR, rule.message or "true"
                if rule.duration is not None:
                    yield behavior.IMAGE_PULL_ERROR_SECONDS, str(rule.duration)
            case "crash" if rule.exit_code is not None:
                yield behavior.EXIT_CODE, str(rule.exit_code)
            case "not-ready" if rule.duration is not None:
                yield behavior.UNREADY_SECONDS, str(rule.duration)
            case "slow-start":
                yield behavior.START_SECONDS, str(rule.duration)

    def _after(self, rule: Rule, pod: Tree, container: str, restarts: int) -> float:
        """Return the seconds until the failure: fixed, or exponentially distributed around the mean."""
        if rule.every is None:
            return rule.after
        metadata = pod["metadata"]
        draw = self._draw(rule, metadata.get("namespace", ""), metadata["name"], container, restarts, "after")
        return round(-rule.every * math.log1p(-draw), 3)

    # Nodes

    def outage(self, node: Tree, now: datetime) -> tuple[str, datetime | None]:
        """Return the name of the rule that stops a node now, or an empty string, and the time of the next change; None for never."""
        stopping, changes = "", []
        for rule in self._node_rules:
            name = node["metadata"]["name"]
            if not _selects_node(rule, node) or self._draw(rule, name) >= rule.probability:
                continue
            window = self._window(rule, node, now)
            if window is None:
                continue
            begin, end = window
            if now < begin:
                changes.append(begin)
                continue
            if end is not None:
                changes.append(end)
            stopping = stopping or rule.name
        return stopping, min(changes, default=None)

    def _window(self, rule: Rule, node: Tree, now: datetime) -> tuple[datetime, datetime | None] | None:
        """Return the current or next outage; a rule with ``every`` has one in each period.

        None if no outage follows. An end of None: the outage lasts forever.
        """
        created = parse_time(node["metadata"]["creationTimestamp"])
        if rule.every is None:
            begin = created + timedelta(seconds=rule.after)
            if rule.duration is None:
                return begin, None
            end = begin + timedelta(seconds=rule.duration)
            return (begin, end) if now < end else None
        period = max(0, (now - created) // timedelta(seconds=rule.every))
        while True:
            draw = self._draw(rule, node["metadata"]["name"], period)
            offset = period * rule.every + draw * (rule.every - (rule.duration or 0.0))
            begin = created + timedelta(seconds=round(offset, 3))
            end = begin + timedelta(seconds=rule.duration or 0.0)
            if now < end:
                return begin, end
            period += 1


def _matches(patterns: Sequence[str], name: str) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _selects_node(rule: Rule, node: Tree) -> bool:
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    has: Callable[[str], str | None] = labels.get
    return _matches(rule.select.nodes, node["metadata"]["name"]) and all(
        has(key) == value for key, value in rule.select.node_labels.items()
    )


def _containers(rule: Rule, pod: Tree) -> Iterator[Tree]:
    """Yield containers that a rule selects; init containers only by name or image."""
    spec, select = pod.get("spec") or {}, rule.select
    candidates = list(spec.get("containers") or ())
    if select.containers or select.images:
        candidates += spec.get("initContainers") or []
    for candidate in candidates:
        if _matches(select.containers, candidate["name"]) and _matches(select.images, candidate.get("image") or ""):
            yield candidate
