"""Field ownership (``metadata.managedFields``) and server-side apply.

Called by the API server's write pipeline; follows structured-merge-diff and ``k8s.io/apimachinery/pkg/util/managedfields``.

Promises, checked by the tests:

- A set of fields *is* its FieldsV1 tree; all sets are values, shared between objects and never mutated.
- An update takes ownership only of values that it changes; a no-op write leaves every entry unchanged, times included.
- Apply is idempotent; a field that its manager no longer applies is removed, unless another manager owns it or it was
  never owned.
- Apply never mutates its arguments, and its result shares no part of the object with them.
- Nothing here knows a kind: the type model defines leaves, merge behaviour and list keys.

Contents: ``elements`` and ``fieldset`` (paths, sets) · ``shapes`` and ``listkeys`` (types as ownership sees them) ·
``compare``, ``merge``, ``remove``, ``reconcile``, ``validate``, ``zero`` (walks over trees and sets) · ``entries`` (the
wire form) · ``ownership`` (owners after a write) · ``updating``, ``applying``, ``times``, ``scale``, ``lastapplied``
(called by the write pipeline).

Order of the calls
------------------

All trees are in the *version of the request*, decoded as Go would write them again: unknown fields and nulls dropped,
quantities and times canonical, and every field that Go always writes present (``status: {}``, ``rules: null``).

create (POST, PUT to a new name)
    decode → default → **``update(None, new, …)``** → mutating admission → ``prepare_for_create`` → validate → store.
    So the creator owns defaults, while values of admission (tolerations, token volumes) or the registry (a cluster IP, a
    UID) have no owner. managedFields in the request are ignored. Custom kinds: after pruning and defaulting.
update (PUT), JSON, merge and strategic merge patch
    decode or patch the live object → default → **``update(live, new, …)``** → mutating admission →
    **``keep_times_of_unchanged(live, new)``** → ``prepare_for_update`` → validate → store. ``new`` must have the
    managedFields of the request: for a patch those of the patched live object; omit the key if the client sent none. The
    strategy's ``reset_fields`` of the (sub)resource are not owned, as it restores them.
server-side apply
    parse the body → **``apply(live or None, config, …)``** → check name and namespace → mutating admission →
    **``keep_times_of_unchanged(live, new)``** (not on create) → ``prepare_for_create`` or ``prepare_for_update`` →
    validate → store. ``config`` is the body as received, not decoded against the type; ``defaulter`` decodes and
    defaults the merged object.
status and other subresources of the same object
    as update or apply, with ``subresource`` and that subresource's ``reset_fields``. managedFields in the request are
    ignored.
scale
    ``entries_for_scale`` returns the managedFields of the Scale; ``update`` or ``apply`` with the Scale's type, version
    ``autoscaling/v1`` and subresource ``scale``; ``entries_for_parent`` transfers the result to the parent.

A write is a no-op if its result equals the stored object, resourceVersion aside; the caller must not store it.
"""
