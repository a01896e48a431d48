"""Cache of server-side applies that change nothing.

The result of an apply is a function of the object, the body, the manager and the options. The cache holds the revision of an
object that a body is known to leave unchanged. Admission depends on more, and runs each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.bounded_cache import BoundedCache, digest
from steersman.apiserver.admission.chain import run, run_mutating

if TYPE_CHECKING:
    from collections.abc import Hashable

    from steersman.apiserver.endpoints.request_scope import RequestScope
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.options import WriteOptions
    from steersman.apiserver.request import RequestContext


#: Applies of one resource.
_APPLIES_MAX = 4096


class NoopApplyCache:
    """Cache of applies to one resource that change nothing."""

    __slots__ = ("_revisions",)

    def __init__(self) -> None:
        self._revisions: BoundedCache[int] = BoundedCache(entries_max=_APPLIES_MAX)

    @staticmethod
    def key(ctx: RequestContext, options: WriteOptions, name: str, raw: bytes) -> Hashable:
        """Return the cache key of an apply: everything that its result depends on except the object."""
        outcome_options = (options.field_manager, options.force, options.field_validation)
        return ctx.namespace, name, digest(raw), *outcome_options

    def note(self, key: Hashable, entry: Entry) -> None:
        """Record that the apply left this state of the object unchanged, without a warning."""
        self._revisions.put(key, entry.revision)

    async def unchanged(
        self, key: Hashable, scope: RequestScope, ctx: RequestContext, options: WriteOptions, name: str
    ) -> Entry | None:
        """Return the object if the cache has the apply, which leaves it unchanged; None otherwise.

        Raises the error of admission.
        """
        revision = self._revisions.get(key)
        if revision is None:
            return None
        entry = await scope.objects.current(scope.objects.key(ctx, name))
        if entry is None or entry.revision != revision:
            return None
        steps = scope.update_steps
        if not steps.admit and not steps.validate:
            return entry
        attributes = scope.noop_attributes(ctx, entry, options, name)
        waiting = run_mutating(steps.admit, attributes)
        if waiting is not None:
            await waiting
        if attributes.is_changed:
            return None
        waiting = run(steps.validate, attributes)
        if waiting is not None:
            await waiting
        return entry
