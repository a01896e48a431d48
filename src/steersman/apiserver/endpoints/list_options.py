"""Query of a list, a watch or a deletecollection (``metav1.ListOptions``), validated as upstream."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.errors import bad_request, invalid
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.selectors import (
    FieldRequirement,
    FieldSelector,
    SelectorError,
    parse_field_selector,
    parse_label_selector,
)
from steersman.apiserver.generic.listing import EXACT, NOT_OLDER_THAN, ListOptions
from steersman.apiserver.generic.selection import NAME, NAMESPACE, Selection, select
from steersman.apiserver.generic.sharding import parse_shard_selector
from steersman.apiserver.workers import in_worker, is_large

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.selectors import LabelSelector
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = 1 << 63
_DIGITS_MAX: Final = 25


async def list_options(served: ServedResource, request: Request, *, watch: bool = False) -> ListOptions:
    """Return ``read_list_options``, read in a worker if the query is long."""
    if not is_large(len(request.raw_query)):
        return read_list_options(served, request, watch=watch)
    return await in_worker(read_list_options, served, request, watch=watch)


def read_list_options(served: ServedResource, request: Request, *, watch: bool = False) -> ListOptions:
    """Return the options of a request. Raises 400 for invalid ones, 422 for those that exclude each other."""
    if not request.raw_query and not request.info.name and not watch:
        return ListOptions(select(served.cache, request.info.namespace))
    query = {name: values[0] for name, values in request.query.items()}
    timeout_seconds = _integer(query, "timeoutSeconds")
    limit = _integer(query, "limit")
    try:
        labels = parse_label_selector(query.get("labelSelector", ""))
        fields = parse_field_selector(query.get("fieldSelector", ""))
    except SelectorError as error:
        raise bad_request(str(error)) from None
    version, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    initial = _boolean(query, "sendInitialEvents")
    if watch and initial is None and not match and version in ("", "0"):
        # A watch without a version has always begun with the initial state.
        initial, match = True, NOT_OLDER_THAN
    token = query.get("continue", "")
    errors = (
        _watch_errors(match, token, initial=initial) if watch else _list_errors(version, match, token, initial=initial)
    )
    if errors:
        raise invalid("ListOptions.meta.k8s.io", "", errors)
    shard = query.get("shardSelector", "")
    return ListOptions(
        _selection(served, request, labels=labels, fields=fields, shard=shard),
        resource_version=version,
        match=match,
        limit=limit or 0,
        continue_token=token,
        timeout_seconds=timeout_seconds,
        send_initial_events=initial,
        allow_bookmarks=bool(_boolean(query, "allowWatchBookmarks")),
        shard_selector=shard,
    )


def _selection(
    served: ServedResource, request: Request, *, labels: LabelSelector, fields: FieldSelector, shard: str
) -> Selection:
    """Return the selection of query and path: ``/watch/…/pods/a`` selects one object."""
    fields = _checked(served, fields)
    name = request.info.name
    if name and fields.is_empty:
        fields = FieldSelector([FieldRequirement(NAME, name)])
    elif name and name != fields.exact_value(NAME):
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return select(
        served.cache,
        request.info.namespace,
        labels=labels,
        fields=fields,
        field_values=served.strategy.field_labels,
        shard=(shard, parse_shard_selector(shard)) if shard else None,
    )


def _checked(served: ServedResource, fields: FieldSelector) -> FieldSelector:
    """Return the selector with the strategy's field labels. Raises 400 for an unknown label."""
    if fields.is_empty:
        return fields
    strategy = served.strategy
    field_labels = served.field_labels
    if field_labels is None:
        field_labels = {label: label for label in strategy.field_labels}
    field_labels = {**field_labels, NAME: NAME}
    if strategy.namespace_field_label:
        field_labels[NAMESPACE] = NAMESPACE
    for requirement in fields.requirements:
        if requirement.field not in field_labels:
            raise bad_request(_unknown_label(served, requirement.field))
    return FieldSelector([r._replace(field=field_labels[r.field]) for r in fields.requirements])


def _unknown_label(served: ServedResource, label: str) -> str:
    """Return upstream's message for an unknown field label, which differs between kinds."""
    if served.is_custom or served.strategy.field_labels or not served.strategy.namespace_field_label:
        return served.strategy.unknown_field_label.format(label=label, quoted=quote(label))
    return f"{quote(label)} is not a known field selector: only {quote(NAME)}, {quote(NAMESPACE)}"


def _list_errors(version: str, match: str, token: str, *, initial: bool | None) -> list[FieldError]:
    errors = []
    if match:
        if not version:
            errors.append(_forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if token:
            errors.append(_forbidden("resourceVersionMatch is forbidden when continue is provided"))
        if match not in (EXACT, NOT_OLDER_THAN):
            errors.append(field.not_supported("resourceVersionMatch", match, (EXACT, NOT_OLDER_THAN, "")))
        if match == EXACT and version == "0":
            errors.append(_forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if initial is not None:
        errors.append(field.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(match: str, token: str, *, initial: bool | None) -> list[FieldError]:
    errors = []
    if initial is not None and match != NOT_OLDER_THAN:
        errors.append(_forbidden(f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"))
    if match:
        if initial is None:
            errors.append(
                _forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != NOT_OLDER_THAN:
            errors.append(field.not_supported("resourceVersionMatch", match, (NOT_OLDER_THAN,)))
        if token:
            errors.append(_forbidden("resourceVersionMatch is forbidden when continue is provided"))
    return errors


def _forbidden(detail: str) -> FieldError:
    return field.forbidden("resourceVersionMatch", detail)


def _boolean(query: Mapping[str, str], name: str) -> bool | None:
    """Return a boolean: all values but ``false`` and ``0`` are true, the empty one too."""
    value = query.get(name)
    return None if value is None else value.lower() not in ("false", "0")


def _integer(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not _INTEGER.fullmatch(text):
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    number = int(text) if len(text) <= _DIGITS_MAX else _INT64
    if not -_INT64 <= number < _INT64:
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
    return number
