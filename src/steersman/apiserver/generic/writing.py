"""Preparation and validation of objects before they are stored: system fields, and the strategy's rules in upstream's order.

Pure functions over trees in the storage version, which change the new one only.

Upstream: ``rest.BeforeCreate``, ``rest.BeforeUpdate`` (staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update}.go)
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.errors import StatusError, bad_request, conflict, invalid, plain_error
from steersman.apimachinery.field import Path
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.managedfields.times import keep_times_of_unchanged
from steersman.apimachinery.metadata_validation import (
    FIELD_MANAGER_MAX_BYTES,
    SUBRESOURCE_MAX_BYTES,
    validate_managed_fields,
    validate_object_meta,
    validate_object_meta_update,
    validate_standard_finalizers,
)
from steersman.apimachinery.names import name_is_path_segment
from steersman.apimachinery.trees import tree_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.strategy import Strategy, UpdateHooks
    from steersman.apiserver.request import RequestContext


#: Metadata fields that a POST resets; a PUT or apply that creates keeps a deletion timestamp and grace period.
#: Upstream: ``rest.WipeObjectMetaSystemFields``.
_SYSTEM_FIELDS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
#: All that the rules of metadata look at, but for ``managedFields``, which have their own check.
_RULED: Final = (
    "name",
    "namespace",
    "generateName",
    "uid",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_MANAGED_FIELDS: Final = Path("metadata", "managedFields")
#: Texts of managed fields that have rules, and their sizes.
_MANAGED_NAMES: Final = (("manager", FIELD_MANAGER_MAX_BYTES), ("subresource", SUBRESOURCE_MAX_BYTES))
_UINT64_END: Final = 2**64


class _LastSecond:
    """Cache of the last formatted second: start, end and text. Most writes are in the same second as the previous one."""

    __slots__ = ("formatted",)

    def __init__(self) -> None:
        #: One tuple, so that servers in several threads never mix the parts of two values.
        self.formatted: tuple[datetime, datetime, str] = (_NEVER, _NEVER, "")


_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_last_second: Final = _LastSecond()


def time_text(now: datetime) -> str:
    """Format a time as in objects: UTC, whole seconds."""
    start, end, text = _last_second.formatted
    if not start <= now < end:
        start = now.replace(microsecond=0)
        text = start.isoformat().removesuffix("+00:00") + "Z"
        _last_second.formatted = start, start + _SECOND, text
    return text


def wipe_system_fields(metadata: Tree) -> None:
    """Drop metadata that only the server may set."""
    for name in _SYSTEM_FIELDS:
        if name in metadata:
            del metadata[name]


def ensure_object_namespace(metadata: Tree, namespace: str) -> None:
    """Set the namespace to that of the path, which is empty for cluster-scoped kinds. Raises 400 if the object has another one."""
    body_namespace = metadata.get("namespace")
    if body_namespace == namespace:
        return
    if not namespace:
        metadata.pop("namespace", None)
    elif body_namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    else:
        metadata["namespace"] = namespace


def ensure_object_name(metadata: Tree, name: str) -> None:
    """Raise 400 if the name of the object is not that of the path."""
    body_name = metadata.get("name")
    if body_name == name:
        return
    if not body_name:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    raise bad_request(f"the name of the object ({body_name}) does not match the name on the URL ({name})")


def dedupe_owner_references(metadata: Tree, warn: Callable[[str], None], *, after_admission: bool = False) -> None:
    """Drop duplicate owner references, with a warning."""
    references = metadata.get("ownerReferences")
    if not references or len(references) < 2:
        return
    distinct: dict[bytes, Any] = {}
    dropped: dict[str, None] = {}
    for reference in references:
        key = tree_key(reference)
        if key in distinct:
            dropped[reference.get("uid", "")] = None
        else:
            distinct[key] = reference
    if not dropped:
        return
    metadata["ownerReferences"] = list(distinct.values())
    suffix, advice = (
        (" after mutating admission happens", "") if after_admission else ("", "please fix your requests; ")
    )
    warn(
        f".metadata.ownerReferences contains duplicate entries{suffix}; API server dedups owner references in 1.20+, and"
        f" may reject such requests as early as 1.24; {advice}duplicate UID(s) observed: {', '.join(dropped)}"
    )


def resource_version_of(metadata: Tree) -> int:
    """Return the resourceVersion of the client's object, 0 without one. Raises upstream's 500 if it is not a number."""
    text = metadata.get("resourceVersion")
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise plain_error(f"strconv.ParseUint: parsing {quote(text)}: invalid syntax")
    if len(text) > 20 or int(text) >= _UINT64_END:
        raise plain_error(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def sent_version(metadata: Tree) -> int:
    """Return the resourceVersion of an object to be created, 0 without one or if it is not a number."""
    if "resourceVersion" not in metadata:
        return 0
    try:
        return resource_version_of(metadata)
    except StatusError:
        return 0


def prepare_create(strategy: Strategy, ctx: RequestContext, tree: Tree) -> None:
    """Apply the strategy's preparation to a new object that has its name, uid and creation time. Raises 400."""
    strategy.prepare_for_create(ctx, tree)
    if strategy.has_generation:
        tree["metadata"]["generation"] = 1


def validate_create(strategy: Strategy, ctx: RequestContext, tree: Tree, *, group_kind: str, namespaced: bool) -> None:
    """Validate a prepared new object, warn, and normalize it to its stored form. Raises 422."""
    metadata = tree["metadata"]
    errors = validate_object_meta(
        metadata, namespaced=namespaced, name_rule=strategy.name_rule(tree), with_managed_fields=False
    )
    errors += _finalizer_errors(metadata, need_domains=strategy.finalizers_need_domains)
    own_errors = strategy.validate(ctx, tree)
    errors = list(own_errors) if own_errors and strategy.checks_metadata_last else [*errors, *own_errors]
    if errors:
        raise invalid(group_kind, metadata.get("name") or "", errors)
    ctx.warn_all(strategy.warnings(ctx, tree, None))
    strategy.canonicalize(tree)


def prepare_update(
    strategy: Strategy, hooks: UpdateHooks, ctx: RequestContext, tree: Tree, old: Tree, *, namespaced: bool
) -> None:
    """Carry over what a change may not set, and apply the strategy's preparation. ``tree`` is at the version of ``old``. Raises 400."""
    metadata, old_metadata = tree["metadata"], old["metadata"]
    ensure_object_namespace(metadata, ctx.namespace if namespaced else "")
    generation = old_metadata.get("generation")
    _set_or_drop(metadata, "generation", generation)
    hooks.prepare(ctx, tree, old)
    is_same = not (strategy.has_generation and hooks.bumps_generation) or strategy.generation_view(
        tree
    ) == strategy.generation_view(old)
    if not is_same and metadata.get("generation") == generation:
        metadata["generation"] = (generation or 0) + 1
    _keep_system_fields(metadata, old_metadata)


def validate_update(
    strategy: Strategy,
    hooks: UpdateHooks,
    ctx: RequestContext,
    tree: Tree,
    old: Tree,
    *,
    group_kind: str,
    namespaced: bool,
) -> None:
    """Validate a prepared change, warn, and normalize the object to its stored form. Raises 422."""
    errors = _update_errors(strategy, hooks, ctx, tree, old, namespaced=namespaced)
    if errors:
        raise invalid(group_kind, tree["metadata"].get("name") or "", errors)
    if hooks.warnings is not None:
        ctx.warn_all(hooks.warnings(ctx, tree, old))
    strategy.canonicalize(tree)
    keep_times_of_unchanged(old, tree)


def _keep_system_fields(metadata: Tree, old_metadata: Tree) -> None:
    """Return the errors of fields that an update cannot change."""
    if not metadata.get("uid"):
        metadata["uid"] = old_metadata["uid"]
    metadata["creationTimestamp"] = old_metadata.get("creationTimestamp")
    metadata.pop("selfLink", None)
    if old_metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = old_metadata["deletionTimestamp"]
    if old_metadata.get("deletionGracePeriodSeconds") is not None:
        metadata.setdefault("deletionGracePeriodSeconds", old_metadata["deletionGracePeriodSeconds"])


def _update_errors(
    strategy: Strategy, hooks: UpdateHooks, ctx: RequestContext, tree: Tree, old: Tree, *, namespaced: bool
) -> list[FieldError]:
    """Return the errors of metadata, repeated as often as upstream's validation of the kind repeats them."""
    metadata, old_metadata = tree["metadata"], old["metadata"]
    errors: list[FieldError] = []
    managers = _manager_errors(metadata)
    if managers or _is_changed(metadata, old_metadata):
        own = validate_object_meta(
            metadata, namespaced=namespaced, name_rule=name_is_path_segment, with_managed_fields=False
        )
        change = validate_object_meta_update(_ruled(metadata), old_metadata)
        own += managers
        change += managers
        of_change, of_object = hooks.metadata_checks
        errors += own * (1 + of_object) + change * (1 + of_change)
        domains = _finalizer_errors(metadata, need_domains=strategy.finalizers_need_domains)
        errors += domains * (of_object + of_change)
    errors += hooks.validate(ctx, tree, old)
    return errors


def _manager_errors(metadata: Tree) -> list[FieldError]:
    """Return the errors of managed fields: a client may have written names that are too long or not printable."""
    for entry in metadata.get("managedFields") or ():
        for name, size in _MANAGED_NAMES:
            value = entry.get(name)
            if value and not (len(value) <= size and value.isascii() and value.isprintable()):
                return validate_managed_fields(metadata["managedFields"], _MANAGED_FIELDS)
    return []


def _is_changed(metadata: Tree, old_metadata: Tree) -> bool:
    # a loop is faster than ``any`` over a generator, and every update comes here
    for name in _RULED:  # noqa: SIM110
        if metadata.get(name) != old_metadata.get(name):
            return True
    return False


def _ruled(metadata: Tree) -> Tree:
    return {name: value for name, value in metadata.items() if name != "managedFields"}


def _finalizer_errors(metadata: Tree, *, need_domains: bool) -> list[FieldError]:
    finalizers = metadata.get("finalizers")
    return validate_standard_finalizers(finalizers) if finalizers and need_domains else []


def _set_or_drop(metadata: Tree, name: str, value: Any) -> None:
    if value is None:
        metadata.pop(name, None)
    else:
        metadata[name] = value


def uid_mismatch(group_resource: str, name: str, *, key: str, precondition: str, actual: str) -> StatusError:
    """Return the 409 for a precondition on another uid than that of the stored object, or of an absent one."""
    return conflict(
        group_resource,
        name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed:"
        f" UID in precondition: {precondition}, UID in object meta: {actual}",
    )
