"""Section of a failed test's report: the newest events of its cluster, the output of its operators, and the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.testing.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.testing.kit.cluster import Cluster

_EVENTS: Final = 20
_REQUESTS: Final = 20
_WRITES: Final = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_LOG_CHARACTERS: Final = 4000
_OUTPUT_CHARACTERS: Final = 8000
_SECONDS: Final = 5.0


def sections_of(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield title and text of each section that is not empty."""
    try:
        yield from _sections_of_running(cluster)
    except ClusterError as error:
        yield "cluster", str(error)
    for operator in cluster.operators:
        if operator.output:
            yield f"output of {operator.name}", operator.output[-_OUTPUT_CHARACTERS:]
    if cluster.logs:
        yield "log of the cluster", cluster.logs[-_LOG_CHARACTERS:]


def _sections_of_running(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield the sections from the running cluster. Raises ``ClusterError``."""
    lines = [_line(event) for event in cluster.events(limit=_EVENTS, timeout_seconds=_SECONDS)]
    if lines:
        yield "events of the cluster", "\n".join(lines)
    writes = [
        request for request in cluster.requests() if request["verb"] in _WRITES and "leases" not in request["resource"]
    ]
    if writes:
        yield "writes to the cluster", "\n".join(request["text"] for request in writes[-_REQUESTS:])


def _line(event: dict[str, Any]) -> str:
    about = event.get("involvedObject") or {}
    subject = "/".join(part for part in (about.get("namespace"), about.get("kind"), about.get("name")) if part)
    time = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
    return f"{time}  {event.get('type')}  {event.get('reason')}  {subject}  {event.get('message') or ''}"
