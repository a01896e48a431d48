"""Progress of a reflector: detects repeated events and the version to resume the watch from."""

from __future__ import annotations

from steersman.client.objects import compare_versions


class Position:
    """Resource versions that one reflector has reached; empty until the first list.

    Invariant: every change up to and including ``complete`` was delivered, so a watch from there misses none.
    """

    __slots__ = ("complete", "newest")

    def __init__(self) -> None:
        #: Newest version of a list, an event or a bookmark.
        self.newest = ""
        #: Version to resume a watch from; empty: a list is needed.
        self.complete = ""

    @property
    def can_resume(self) -> bool:
        """True if a watch can resume without a list."""
        return bool(self.complete)

    def listed(self, version: str) -> None:
        """Record the version of a complete list."""
        self.newest = self.complete = version

    def forget(self) -> None:
        """Require a new list: the server no longer keeps the following versions."""
        self.complete = ""

    def is_repeated(self, version: str) -> bool:
        """Report whether a change of this version was already delivered. False if versions are not comparable."""
        order = compare_versions(version, self.complete)
        return order is not None and order <= 0

    def reached_event(self, version: str) -> None:
        """Record the version of an event.

        More events of the same version may follow, as a transaction gives its objects one version.

        Therefore the watch resumes just before this version, if versions are integers; repetitions are detected by
        version.
        """
        self.newest = version
        self.complete = str(int(version) - 1) if version.isascii() and version.isdigit() else version

    def reached_bookmark(self, version: str) -> None:
        """Record a bookmark: all changes up to this version were sent. An older bookmark is ignored."""
        if not version or self.is_repeated(version):
            return
        self.newest = self.complete = version

    def has_reached(self, version: str) -> bool:
        """Report whether all changes up to this version, of the watched resource, were received."""
        order = compare_versions(version, self.newest)
        return order is not None and order <= 0
