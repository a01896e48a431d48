"""Records of an embedded cluster: requests, versions of objects, reconciles, used permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.testing.application import CURRENT_REQUEST
from steersman.testing.history import ObjectHistory
from steersman.testing.reconciles import HOT_COUNT, HOT_SECONDS, ReconcileTrace
from steersman.testing.trace import PATTERN_FIELDS, PatternError

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock
    from steersman.storage.store import Store
    from steersman.testing.application import ClusterApplication
    from steersman.testing.history import Change, Version
    from steersman.testing.reconciles import HotLoop
    from steersman.testing.trace import RequestRecord

#: Key prefixes of objects that ``writes_since`` ignores: node statuses are heartbeats.
_HEARTBEATS: Final = ("/registry/minions/",)
_LINES_MAX: Final = 20


class Observation:
    """Records of one cluster; they persist across restarts."""

    def __init__(self, app: ClusterApplication, clock: Clock) -> None:
        self.app: Final = app
        self.history: Final = ObjectHistory(clock)
        self.reconciles: Final = ReconcileTrace(clock)

    async def follow(self, store: Store) -> None:
        """Start recording the changes of a store."""
        await self.history.follow(store)

    def committed(self, revision: int, operations: int) -> None:
        """Record a commit, in the task of its writer."""
        self.app.revision_times.committed(revision)
        record = CURRENT_REQUEST.get()
        if record is not None and operations:
            self.history.committed(range(revision - operations + 1, revision + 1), record)

    def requests(self, **patterns: Any) -> list[RequestRecord]:
        """Return the requests that match, with the changed fields of their writes. Raises ``PatternError``."""
        for field in patterns:
            if field not in PATTERN_FIELDS:
                expected = ", ".join(PATTERN_FIELDS)
                raise PatternError(f'unknown field "{field}" of a request, expected one of: {expected}')
        records = self.app.trace.find(**patterns)
        for record in records:
            if record.revisions and not record.diff:
                record.diff = [line for revision in record.revisions for line in self.history.diff(revision)]
        return records

    def versions(self, key: str) -> list[Version]:
        """Return the versions of an object."""
        return self.history.versions(key)

    def describe_versions(self, key: str) -> str:
        """Return the last versions of an object as text, for errors."""
        lines = "\n".join(map(str, self.versions(key)[-5:])).splitlines()
        return "\n".join(lines[-_LINES_MAX:]) or "no version of it was written"

    def rights_used(self, user: str) -> list[dict[str, Any]]:
        """Return the minimal rules of a ClusterRole that allow all requests of a user, except refused ones."""
        verbs: dict[tuple[str, str], set[str]] = {}
        paths: dict[str, set[str]] = {}
        for record in self.app.trace.find(user=user):
            if record.code in (0, 401, 403):
                continue
            if record.resource:
                name, _, group = record.resource.partition(".")
                resource = f"{name}/{record.subresource}" if record.subresource else name
                verbs.setdefault((group, resource), set()).add(record.verb)
            else:
                paths.setdefault(record.path, set()).add(record.verb)
        return [*_resource_rules(verbs), *_path_rules(paths)]

    def writes_since(self, total: int) -> list[Change]:
        """Return the changes since a value of ``history.total``, without heartbeats."""
        return [change for change in self.history.since(total) if not change.key.startswith(_HEARTBEATS)]

    def describe(self, change: Change) -> str:
        """Return a line about a change: key, writer and reconcile."""
        writer = self.history.writer(change.revision)
        writer_name = "the store" if writer is None else writer.user_agent
        reconcile_suffix = f", reconcile of {writer.reconcile}" if writer is not None and writer.reconcile else ""
        change_text = (
            "deleted" if change.value is None else "; ".join(self.history.diff(change.revision)[:3]) or "written"
        )
        return f"{change.key.removeprefix('/registry/')} by {writer_name}{reconcile_suffix}: {change_text}"

    def hot_loops(self, *, count: int = HOT_COUNT, seconds: float = HOT_SECONDS) -> list[HotLoop]:
        """Return the keys that were reconciled too often."""
        return self.reconciles.hot_loops(count=count, seconds=seconds)


def _resource_rules(verbs: dict[tuple[str, str], set[str]]) -> list[dict[str, Any]]:
    """Return rules; resources of a group with the same verbs share one."""
    merged: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), used in sorted(verbs.items()):
        merged.setdefault((group, tuple(sorted(used))), []).append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(used)}
        for (group, used), resources in merged.items()
    ]


def _path_rules(paths: dict[str, set[str]]) -> list[dict[str, Any]]:
    merged: dict[tuple[str, ...], list[str]] = {}
    for path, used in sorted(paths.items()):
        merged.setdefault(tuple(sorted(used)), []).append(path)
    return [{"nonResourceURLs": urls, "verbs": list(used)} for used, urls in merged.items()]
