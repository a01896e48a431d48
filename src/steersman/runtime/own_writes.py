"""A reconcile that reads its own last writes (KEP-5647 is about what happens to those that do not)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.client.objects import compare_versions, key_of, resource_version_of

if TYPE_CHECKING:
    import logging

    from steersman.client.informer import Informer

#: How long a reconcile waits for its caches to show what it wrote; then it goes on, and may do a thing twice.
SEEN_TIMEOUT_SECONDS: Final = 10.0


class _Write(NamedTuple):
    """Not the object: most keys are left alone from some time on, and what is noted for them then stays."""

    version: str
    #: Of the object; empty where only the version is known.
    key: str


class OwnWrites:
    """What was written for each key and not seen since. Of an informer the newest write is kept."""

    def __init__(self, log: logging.Logger, *, timeout_seconds: float = SEEN_TIMEOUT_SECONDS) -> None:
        self._log = log
        self._timeout = timeout_seconds
        self._written: dict[str, dict[Informer[Any], _Write]] = {}

    def note(self, key: str, informer: Informer[Any], written: Any) -> None:
        """While ``key`` was reconciled, ``written`` came back from a write to what ``informer`` watches.

        The next reconcile of ``key`` begins when the informer's cache has seen it. Of several, the newest is waited
        for: a cache that has seen that has seen the others, in whatever order they are noted.
        """
        write = (
            _Write(written, "") if isinstance(written, str) else _Write(resource_version_of(written), key_of(written))
        )
        noted = self._written.setdefault(key, {})
        known = noted.get(informer)
        order = None if known is None else compare_versions(write.version, known.version)
        if order is None or order > 0:
            noted[informer] = write

    async def await_seen(self, key: str) -> None:
        """Wait until all that was noted for ``key`` is in the caches; at most the timeout for each informer."""
        for informer, write in self._written.pop(key, {}).items():
            try:
                await informer.wait_seen(write.version, key=write.key, timeout_seconds=self._timeout)
            except TimeoutError:
                self._log.warning("the cache of %s is behind the last write for %s, going on", informer.name, key)

    def forget(self, key: str) -> None:
        """The object of ``key`` is gone."""
        self._written.pop(key, None)
