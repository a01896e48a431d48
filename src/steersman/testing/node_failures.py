"""Failures of simulated nodes and pods, by the annotations of chaos rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.client.requests import PatchType
from steersman.client.resource_types import tree
from steersman.nodes.node_object import STOPPED
from steersman.nodes.simulation import behavior

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.client import Client

_NODES: Final = tree("v1", "Node")
_PODS: Final = tree("v1", "Pod")
#: Annotation of each failure of a pod.
POD_FAILURES: Final = {
    "crash": behavior.CRASH_AFTER,
    "oom": behavior.OOM_AFTER,
    "hang": behavior.HANG_AFTER,
    "not-ready": behavior.UNREADY_AFTER,
    "evict": behavior.EVICT_AFTER,
}


class NodeFailures:
    """Failures of simulated nodes."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client

    async def fail(self, name: str) -> None:
        """Stop a node: no heartbeats, no status updates of its pods. Raises ``NotFound``."""
        await self._set(name, "true")

    async def recover(self, name: str) -> None:
        """Start a node again. Raises ``NotFound``."""
        await self._set(name, None)

    async def _set(self, name: str, value: str | None) -> None:
        patch = {"metadata": {"annotations": {STOPPED: value}}}
        await self._client().patch(_NODES, name, patch, patch_type=PatchType.MERGE)


class PodFailures:
    """Failures of pods on simulated nodes."""

    def __init__(self, client: Callable[[], Client]) -> None:
        self._client = client

    async def fail(
        self,
        name: str,
        failure: str = "crash",
        *,
        namespace: str = "default",
        container: str = "",
        after_seconds: float = 0,
    ) -> None:
        """Make containers fail ``after_seconds`` after each start, until ``recover``.

        ``failure`` is one of ``POD_FAILURES``. Raises ValueError for other values, ``NotFound``.
        """
        if failure not in POD_FAILURES:
            raise ValueError(f'unknown failure "{failure}" of a pod, expected one of: {", ".join(POD_FAILURES)}')
        key = f"{POD_FAILURES[failure]}.{container}" if container else POD_FAILURES[failure]
        await self._annotate(name, namespace, {key: str(after_seconds)})

    async def recover(self, name: str, *, namespace: str = "default") -> None:
        """Remove all failures of a pod. Raises ``NotFound``."""
        pod = await self._client().get(_PODS, name, namespace=namespace)
        annotations = pod["metadata"].get("annotations") or {}
        failures = tuple(POD_FAILURES.values())
        await self._annotate(name, namespace, {key: None for key in annotations if key.startswith(failures)})

    async def _annotate(self, name: str, namespace: str, annotations: dict[str, str | None]) -> None:
        patch = {"metadata": {"annotations": annotations}}
        await self._client().patch(_PODS, name, patch, namespace=namespace, patch_type=PatchType.MERGE)
