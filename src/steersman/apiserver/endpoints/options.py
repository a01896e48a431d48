"""Validated options of writes, from queries and bodies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.envelope import type_meta, unreadable_json
from steersman.apimachinery.errors import StatusError, bad_request, invalid
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.text_cache import text_cache
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.apiserver.endpoints.media import CBOR, PROTOBUF, YAML, body_media_type
from steersman.apiserver.generic.options import (
    BACKGROUND,
    FOREGROUND,
    IGNORE,
    META_GROUP,
    ORPHAN,
    STRICT,
    WARN,
    DeleteOptions,
    WriteOptions,
)
from steersman.schema import protobuf
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.http import Request

#: As upstream's ``FieldManagerMaxLength``.
FIELD_MANAGER_BYTES_MAX: Final = 128

_NO_OPTIONS: Final = WriteOptions()
_NO_DELETE_OPTIONS: Final = DeleteOptions()
#: Bounds of the cache of options: number of queries, and characters of one; longer ones are parsed each time.
_parsed_options: Final[BoundedCache[WriteOptions]] = BoundedCache(entries_max=1024)
_CACHED_QUERY_BYTES_MAX: Final = 512
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_POLICIES: Final = (FOREGROUND, BACKGROUND, ORPHAN)


def read_write_options(request: Request, kind: str) -> WriteOptions:
    """Return the query's options of a create (``kind`` is ``CreateOptions``) or an update (``UpdateOptions``)."""
    raw = request.raw_query
    if not raw:
        return _NO_OPTIONS
    cached = _parsed_options.get((raw, kind))
    if cached is not None:
        return cached
    options, errors = _write_options(request.query)
    if errors:
        raise _refused(kind, errors)
    return _cached(raw, kind, options)


def read_patch_options(request: Request, *, is_apply: bool) -> WriteOptions:
    """Return the query's options of a patch."""
    kind = "ApplyOptions" if is_apply else "PatchOptions"
    cached = _parsed_options.get((request.raw_query, kind))
    if cached is not None:
        return cached
    options, errors = _write_options(request.query)
    if is_apply and not options.field_manager:
        errors.insert(0, field.required("fieldManager", "is required for apply patch"))
    elif not is_apply and options.force is not None:
        errors.insert(0, field.forbidden("force", "may not be specified for non-apply patch"))
    if errors:
        raise _refused("PatchOptions", errors)
    return _cached(request.raw_query, kind, options)


def _cached(raw_query: bytes, kind: str, options: WriteOptions) -> WriteOptions:
    """Cache the options: clients repeat a few queries."""
    if len(raw_query) <= _CACHED_QUERY_BYTES_MAX:
        _parsed_options.put((raw_query, kind), options)
    return options


def _write_options(query: Mapping[str, Sequence[str]]) -> tuple[WriteOptions, list[FieldError]]:
    manager = _first(query, "fieldManager")
    validation = _first(query, "fieldValidation")
    errors = [*_field_manager_errors(manager), *_dry_run_errors(query.get("dryRun", ()))]
    if validation not in ("", IGNORE, WARN, STRICT):
        errors.append(field.not_supported("fieldValidation", validation, ("", IGNORE, STRICT, WARN)))
    options = WriteOptions(
        dry_run="dryRun" in query,
        field_manager=manager,
        field_validation=validation,
        force=_boolean(query, "force"),
    )
    return options, errors


async def read_delete_options(request: Request) -> DeleteOptions:
    """Return the options of a delete, from its body or, without body, from the query."""
    body = await request.body()
    if body:
        return _checked_delete_options(_decode_options(body, body_media_type(request)))
    if not request.raw_query:
        return _NO_DELETE_OPTIONS
    query = request.query
    tree: dict[str, Any] = {}
    if "dryRun" in query:
        tree["dryRun"] = query["dryRun"]
    if "gracePeriodSeconds" in query:
        tree["gracePeriodSeconds"] = integer(query["gracePeriodSeconds"][0])
    if "propagationPolicy" in query:
        tree["propagationPolicy"] = query["propagationPolicy"][0]
    tree["orphanDependents"] = _boolean(query, "orphanDependents")
    option = "ignoreStoreReadErrorWithClusterBreakingPotential"
    tree[option] = _boolean(query, option)
    return _checked_delete_options(tree)


def _decode_options(body: bytes, media_type: str) -> dict[str, Any]:
    """Decode options of any API group, which old clients send; unknown fields are dropped."""
    try:
        tree = _parse(body, media_type)
        meta = type_meta(tree)
        if meta.kind not in ("", "DeleteOptions"):
            raise bad_request(
                f"no kind {quote(meta.kind)} is registered for version {quote(meta.api_version or 'v1')} in scheme"
                ' "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
            )
        return decode(struct_for("", "v1", "DeleteOptions"), tree or {}).tree
    except DecodeError as error:
        raise bad_request(str(error)) from None


def _parse(body: bytes, media_type: str) -> Any:
    if media_type == YAML:
        return decode_yaml(body).tree
    if media_type == CBOR:
        from steersman.apimachinery import cbor  # noqa: PLC0415 — behind a feature gate

        return cbor.decode_object(body)
    return protobuf.decode_body(body, kind="DeleteOptions") if media_type == PROTOBUF else _decode_json(body)


def _decode_json(body: bytes) -> Any:
    try:
        return decode_json(body)
    except DecodeError as error:
        raise unreadable_json(error) from None


def _checked_delete_options(tree: Mapping[str, Any]) -> DeleteOptions:
    check_delete_options(tree)
    return delete_options_of(tree)


def check_delete_options(tree: Mapping[str, Any]) -> None:
    """Raise 422 for invalid delete options. Upstream: ``ValidateDeleteOptions``."""
    policy = tree.get("propagationPolicy")
    errors: list[FieldError] = []
    if policy is not None and tree.get("orphanDependents") is not None:
        errors.append(
            field.invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
        )
    if policy is not None and policy not in _POLICIES:
        errors.append(field.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    errors += _dry_run_errors(tree.get("dryRun") or ())
    if errors:
        raise _refused("DeleteOptions", errors)


def delete_options_of(tree: Mapping[str, Any]) -> DeleteOptions:
    """Return delete options as a struct."""
    preconditions = tree.get("preconditions") or {}
    return DeleteOptions(
        dry_run=bool(tree.get("dryRun")),
        grace_period_seconds=tree.get("gracePeriodSeconds"),
        propagation_policy=tree.get("propagationPolicy") or "",
        orphan_dependents=tree.get("orphanDependents"),
        precondition_uid=preconditions.get("uid"),
        precondition_resource_version=preconditions.get("resourceVersion"),
        sends_preconditions=tree.get("preconditions") is not None,
        ignore_store_read_error=bool(tree.get("ignoreStoreReadErrorWithClusterBreakingPotential")),
    )


def _refused(kind: str, errors: Sequence[FieldError]) -> StatusError:
    return invalid(f"{kind}.{META_GROUP}", "", errors)


def _field_manager_errors(manager: str) -> list[FieldError]:
    if manager.isascii() and manager.isprintable() and len(manager) <= FIELD_MANAGER_BYTES_MAX:
        return []
    errors: list[FieldError] = []
    if len(manager.encode()) > FIELD_MANAGER_BYTES_MAX:
        errors.append(field.too_long("fieldManager", max_bytes=FIELD_MANAGER_BYTES_MAX))
    position = 0
    for char in manager:
        if not char.isprintable():
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            errors.append(field.invalid("fieldManager", manager, detail))
        position += len(char.encode())
    return errors


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [field.not_supported("dryRun", list(values), ("All",))]


def _first(query: Mapping[str, Sequence[str]], name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def _boolean(query: Mapping[str, Sequence[str]], name: str) -> bool | None:
    """Return a boolean: all values but ``false`` and ``0`` are true, the empty one too."""
    values = query.get(name)
    if not values:
        return None
    return values[0].lower() not in ("false", "0")


def integer(text: str, *, bits: int = 64) -> int:
    """Return an integer of a query. Raises 400 with Go's message."""
    if not _INTEGER.fullmatch(text):
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    end = 1 << (bits - 1)
    number = int(text) if len(text) < 30 else end
    if not -end <= number < end:
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
    return number


def field_manager_of(request: Request, options: WriteOptions) -> str:
    """Return the field manager: the option ``fieldManager`` or, without it, the User-Agent up to its first slash."""
    return options.field_manager or _manager_of_agent(request.header(b"user-agent"))


@text_cache(1024, length_max=512)
def _manager_of_agent(user_agent: str) -> str:
    printable = "".join(filter(str.isprintable, _utf8(user_agent).partition("/")[0]))
    return printable.encode()[:FIELD_MANAGER_BYTES_MAX].decode(errors="ignore") or "unknown"


def _utf8(header: str) -> str:
    return header if header.isascii() else header.encode("latin-1").decode("utf-8", "replace")
