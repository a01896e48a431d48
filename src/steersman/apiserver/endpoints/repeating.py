"""Applies that say again what they said before, to an object that is still as it was: nothing has to be worked out anew.

What an apply makes of an object is a function of the object, the body, the manager and the options. So it is remembered
of which state of an object it is known that a body changes nothing. Admission depends on more, and is asked each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.remembering import Remembered, digest

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

    from steersman.apiserver.endpoints.target import Target
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.request import RequestContext

    Tree = dict[str, Any]

#: Applies remembered of one resource; all are forgotten when there are more.
_KEPT_MAX = 4096


class RepeatedApplies:
    """The applies to one resource that are known to change nothing."""

    __slots__ = ("_revisions",)

    def __init__(self) -> None:
        self._revisions: Remembered[int] = Remembered(entries_max=_KEPT_MAX)

    @staticmethod
    def key(ctx: RequestContext, options: WriteOptions, name: str, raw: bytes) -> Hashable:
        """What the outcome of an apply depends on beside the object's state."""
        said = (options.field_manager, options.force, options.field_validation)
        return ctx.namespace, name, digest(raw), *said

    def note(self, key: Hashable, entry: Entry) -> None:
        """The apply has changed nothing of this state of the object, and nobody was warned."""
        self._revisions.put(key, entry.revision)

    async def unchanged(
        self, key: Hashable, target: Target, ctx: RequestContext, options: WriteOptions, name: str
    ) -> Entry | None:
        """The object as it is, when the apply leaves it so; None when that has to be found out.

        Raises what admission refuses with.
        """
        revision = self._revisions.get(key)
        if revision is None:
            return None
        entry = await target.objects.current(target.objects.key(ctx, name))
        if entry is None or entry.revision != revision:
            return None
        steps = target.update_steps
        if not steps.admit and not steps.validate:
            return entry
        layout = target.objects.layout
        new, old = layout.tree(entry), layout.tree(entry)
        attributes = target.attributes(ctx, new, old, options, name)
        await steps.mutate(attributes)
        if new != old:
            return None
        await steps.check(attributes)
        return entry
