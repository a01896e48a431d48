"""Field ownership and server-side apply: who set which field (``metadata.managedFields``), and whose value counts.

Promises, checked by the tests:

- A set of fields *is* its FieldsV1 tree; all sets are values, shared between objects and never changed in place.
- Only a value that changes changes hands by an update; a write without effect leaves every entry, times included.
- Apply is idempotent; what a manager no longer applies goes, unless somebody else owns it or nobody ever did.
- An apply never changes its arguments, and its result shares no part of the object with them.
- Nothing here knows a kind: the type model says what is a leaf, what merges, and by which keys.

Contents: ``elements`` and ``fieldset`` (paths, sets) · ``shapes`` and ``listkeys`` (types as ownership sees them) ·
``compare``, ``merge``, ``remove``, ``reconcile``, ``validate``, ``zero`` (walks over trees and sets) · ``entries`` (the
wire form) · ``ownership`` (who owns what after a write) · ``updating``, ``applying``, ``times``, ``scale``,
``lastapplied`` (what the write path calls).

When to call what
-----------------

All trees are in the *version of the request*, decoded as Go would hold and write them again: unknown fields dropped,
nulls gone, quantities and times canonical, and every field that Go always writes there (``status: {}``, ``rules: null``).

create (POST, PUT to a new name)
    decode → default → **``update(None, new, …)``** → mutating admission → ``prepare_for_create`` → validate → store.
    So defaults are the creator's, while what admission adds (tolerations, token volumes) or the registry sets (a cluster
    IP, a UID) is nobody's. managedFields in the request have no effect. Custom kinds: after pruning and defaulting.
update (PUT), JSON, merge and strategic merge patch
    decode or patch the live object → default → **``update(live, new, …)``** → mutating admission →
    **``keep_times_of_unchanged(live, new)``** → ``prepare_for_update`` → validate → store. ``new`` must carry the
    managedFields of the request: for a patch those of the live object as patched; leave the key out where a client sent
    none. The strategy's ``reset_fields`` of the (sub)resource keep fields that it will put back from being owned.
server-side apply
    parse the body → **``apply(live or None, config, …)``** → check name and namespace → mutating admission →
    **``keep_times_of_unchanged(live, new)``** (not on create) → ``prepare_for_create`` or ``prepare_for_update`` →
    validate → store. ``config`` is the body as it came, not decoded against the type; ``defaulter`` decodes and
    defaults the merged object.
status and other subresources of the same object
    as update or apply, with ``subresource`` and that subresource's ``reset_fields``. managedFields in the request are
    ignored.
scale
    ``entries_for_scale`` gives the Scale its managedFields; ``update`` or ``apply`` with the Scale's type, version
    ``autoscaling/v1`` and subresource ``scale``; ``entries_for_parent`` brings the result back to the parent.

Without effect is a write whose result equals the stored object, resourceVersion aside; the caller must not store it.
"""
