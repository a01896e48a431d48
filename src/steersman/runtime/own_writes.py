"""Read-your-own-writes for reconciles: the cache must have observed the last write of the key. Compare KEP-5647."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.client.errors import ClientError
from steersman.client.objects import compare_versions, key_of, resource_version_of

if TYPE_CHECKING:
    import logging

    from steersman.client.informer import Informer

#: Timeout of a reconcile for the observation of its writes. Afterwards it proceeds if the watch has worked for as long,
#: because the write is then outside of the selection of the informer.
SEEN_TIMEOUT_SECONDS: Final = 10.0


class StaleCache(ClientError):  # noqa: N818 — named by the condition, like its siblings
    """A cache whose watch fails has not observed an own write: a reconcile would repeat it, or count wrongly."""


class _Write(NamedTuple):
    """Version and key of a written object; not the object, as most entries are kept for long."""

    version: str
    #: Key of the object; empty if only the version is known.
    key: str


class OwnWrites:
    """Own writes of each key that the caches have not observed; the newest write per informer."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._written: dict[str, dict[Informer[Any], _Write]] = {}

    def note(self, key: str, informer: Informer[Any], written: Any) -> None:
        """Record that reconciling ``key`` wrote ``written``, a resource that ``informer`` watches.

        The next reconcile of ``key`` starts when the informer's cache has observed the write. Only the newest of several writes
        is stored: a cache that has observed it has observed the others.
        """
        write = (
            _Write(written, "") if isinstance(written, str) else _Write(resource_version_of(written), key_of(written))
        )
        writes = self._written.setdefault(key, {})
        recorded = writes.get(informer)
        order = None if recorded is None else compare_versions(write.version, recorded.version)
        if order is None or order > 0:
            writes[informer] = write

    async def await_seen(self, key: str) -> None:
        """Wait until the caches have observed the writes recorded for ``key``, at most the timeout for each informer.

        Raises ``StaleCache`` if a write was not observed and the watch of its informer fails.
        """
        writes = self._written.get(key, {})
        for informer, write in list(writes.items()):
            try:
                await informer.wait_seen(write.version, key=write.key, timeout_seconds=SEEN_TIMEOUT_SECONDS)
            except TimeoutError:
                if informer.watching_seconds < SEEN_TIMEOUT_SECONDS:
                    raise StaleCache(f"the cache of {informer.name} is behind the last write for {key}") from None
                self._log.warning("the cache of %s is behind the last write for %s, going on", informer.name, key)
            writes.pop(informer, None)
        self._written.pop(key, None)

    def forget(self, key: str) -> None:
        """Remove the writes recorded for a deleted object."""
        self._written.pop(key, None)
