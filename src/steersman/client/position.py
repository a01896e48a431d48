"""How far a reflector has read: what is new, what is a repetition, and from where to go on."""

from __future__ import annotations

from steersman.client.objects import compare_versions


class Position:
    """Of one reflector; empty until the first list.

    Invariant: every change up to and including ``complete`` was delivered, so a watch from there misses nothing.
    """

    __slots__ = ("complete", "newest")

    def __init__(self) -> None:
        #: The newest version that was seen, in a list, an event or a bookmark.
        self.newest = ""
        self.complete = ""

    @property
    def known(self) -> bool:
        """Whether there is something to go on from."""
        return bool(self.complete)

    def listed(self, version: str) -> None:
        """A whole list was read."""
        self.newest = self.complete = version

    def forget(self) -> None:
        """The server no longer keeps what came after: a new list is needed."""
        self.complete = ""

    def is_repeated(self, version: str) -> bool:
        """Whether a change of this version was delivered before; only where versions can be compared."""
        order = compare_versions(version, self.complete)
        return order is not None and order <= 0

    def reached_event(self, version: str) -> None:
        """A change came. Others of the same version may still be on their way: a transaction gives all of its objects one.

        So the place to go on from is just before it, where versions are numbers; what comes twice is told by its version.
        """
        self.newest = version
        self.complete = str(int(version) - 1) if version.isascii() and version.isdigit() else version

    def reached_bookmark(self, version: str) -> None:
        """All up to this version was sent. A bookmark from before what is known is passed over."""
        if not version or self.is_repeated(version):
            return
        self.newest = self.complete = version

    def has_reached(self, version: str) -> bool:
        """Whether a change of this version, of the resources that are watched, must have come by."""
        order = compare_versions(version, self.newest)
        return order is not None and order <= 0
