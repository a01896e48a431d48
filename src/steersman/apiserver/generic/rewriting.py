"""Changes of a stored object by the server itself, without the validation of client updates.

Binding a pod to a node is no update of the pod: neither its strategy nor admission is asked, no manager owns what
changed, the generation stays. Upstream does it by a bare ``GuaranteedUpdate`` of the storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.errors import conflict, not_found
from steersman.apiserver.generic.write_pipeline import ATTEMPTS_MAX
from steersman.storage.store import Conflict

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.store import ObjectStore
    from steersman.apiserver.request import RequestContext

    #: Changes a copy of the stored tree in place; called again after each conflict. Raises ``StatusError``.
    Rewrite = Callable[[Tree], None]


async def rewrite(objects: ObjectStore, ctx: RequestContext, name: str, change: Rewrite) -> Entry:
    """Store the object changed by ``change``. Raises 404, 409, and the errors of ``change``."""
    key = objects.key(ctx, name)
    entry = await objects.current(key)
    for _ in range(ATTEMPTS_MAX):
        if entry is None:
            raise not_found(ctx.group_resource, name)
        tree = objects.layout.tree(entry)
        change(tree)
        try:
            return await objects.put(ctx, key, tree, entry)
        except Conflict as lost:
            entry = objects.entry_of(lost.current)
    raise conflict(ctx.group_resource, name)
