"""Lists: selection, resourceVersion semantics and paging. Upstream: ``cacher`` and ``etcd3.store``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery import field
from steersman.apimachinery.errors import StatusError, bad_request, resource_expired, service_unavailable
from steersman.apimachinery.gotext import quote
from steersman.apiserver.generic.continue_token import decode_continue, encode_continue
from steersman.apiserver.generic.corrupt import corrupt_list
from steersman.apiserver.generic.entry import Entry  # noqa: TC001 — compiled code looks at a Struct's types
from steersman.apiserver.generic.selection import Selection  # noqa: TC001 — as above
from steersman.apiserver.workers import LARGE_BYTES, in_worker
from steersman.storage.store import Compacted, CorruptValue, StoreError

if TYPE_CHECKING:
    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.conversion import Converter
    from steersman.apiserver.generic.watch_cache import WatchCache

EXACT: Final = "Exact"
NOT_OLDER_THAN: Final = "NotOlderThan"

_UNSIGNED: Final = re.compile(r"[0-9]+")
_UINT64: Final = 1 << 64
_DIGITS_MAX: Final = 25
#: Objects that are matched before other requests run.
_STEP: Final = 1000
#: Bytes of objects that are decoded before other requests run: 10 ms of work.
_STEP_BYTES: Final = 512 * 1024

_TOO_OLD: Final = "The resourceVersion for the provided list is too old."
_CONTINUE_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class ListOptions(msgspec.Struct, frozen=True):
    """Validated options of a list, a watch or a deletecollection.

    The version is the text of the query: errors about an invalid one differ.
    """

    selection: Selection
    resource_version: str = ""
    #: Empty, ``EXACT`` or ``NOT_OLDER_THAN``.
    match: str = ""
    #: 0 or less: no limit.
    limit: int = 0
    continue_token: str = ""
    timeout_seconds: int | None = None
    send_initial_events: bool | None = None
    allow_bookmarks: bool = False
    #: Unparsed; ``metadata.shardInfo`` of the list repeats it.
    shard_selector: str = ""


class Page(msgspec.Struct, frozen=True):
    """A list, or a part of one."""

    entries: list[Entry]
    #: ListMeta.
    metadata: Tree


class _Place(msgspec.Struct):
    """Position of a page and its revision; ``exact`` 0: the current one."""

    start: str = ""
    exact: int = 0
    limit: int = 0


async def list_page(
    cache: WatchCache, options: ListOptions, *, group_resource: str = "", converter: Converter | None = None
) -> Page:
    """Return the selected objects, converted. Raises 500 with the keys of objects that cannot be read, 400, 410 for a version that is not kept any more, 504 for one that is not there yet."""
    selection = options.selection
    place = await _place(cache, options)
    cache.check_readable(selection.scope, group_resource)
    try:
        if place.exact:
            cache.check_not_compacted(place.exact)
        revision = place.exact or cache.revision
        is_cached = revision >= cache.ring.floor  # older states come from the store, which counts them
        entries, count = await _entries(cache, selection, place, revision)
    except Compacted:
        raise _expired(place, options) from None
    except CorruptValue as damage:
        raise corrupt_list(group_resource, damage.keys) from None
    except StoreError as error:
        raise service_unavailable(str(error)) from None
    fetched = len(entries)
    if converter is not None:  # selectors see labels and fields in the version served
        entries = await converter.entries(entries)
    metadata: Tree = {"resourceVersion": str(revision)}
    if options.shard_selector:
        metadata["shardInfo"] = {"selector": options.shard_selector}
    if place.limit <= 0 or selection.is_single:
        entries = await _matching(cache, selection, entries)
        if is_cached:
            cache.counts.lists.observe(fetched=fetched, evaluated=fetched, returned=len(entries))
        return Page(entries, metadata)
    more = count > len(entries)
    if not selection.takes_all:
        entries, more = await _first(cache, selection, entries, limit=place.limit)
    if more:
        metadata["continue"] = encode_continue(f"{entries[-1].key[len(selection.base) :]}\0", revision)
        if selection.takes_all:
            metadata["remainingItemCount"] = count - place.limit
    if is_cached:
        cache.counts.lists.observe(fetched=fetched, evaluated=fetched, returned=len(entries))
    return Page(entries, metadata)


async def _place(cache: WatchCache, options: ListOptions) -> _Place:
    """Read the version and the token, and wait until the cache can answer."""
    version = options.resource_version
    # A list "from 0" takes what the cache has, and all of it.
    limit = 0 if version == "0" else max(options.limit, 0)
    if options.continue_token and not options.selection.is_single:
        if version not in ("", "0"):
            decode_continue(options.continue_token)
            raise bad_request("specifying resource version is not allowed when using continue")
        token = decode_continue(options.continue_token)
        exact = max(token.revision, 0)
        await (cache.wait_until(exact) if exact else cache.wait_fresh())
        return _Place(options.selection.base + token.start, exact, limit)
    if not version:
        await cache.wait_fresh()
        return _Place(limit=limit)
    try:
        revision = parse_version(version)
    except ValueError as error:
        raise bad_request(f"invalid resource version: {error}") from None
    await cache.wait_until(revision)
    is_exact = options.match == EXACT or (not options.match and limit > 0)
    return _Place(exact=revision if is_exact else 0, limit=limit)


async def _entries(cache: WatchCache, selection: Selection, place: _Place, revision: int) -> tuple[list[Entry], int]:
    """Return the entries of the scope from the position on, and their number; no more than a page if all of them match."""
    if selection.is_single:
        if not place.exact:
            entry = cache.get(selection.scope)
            entries = [] if entry is None else [entry]
        else:
            entries, _ = await cache.snapshot_at(revision, selection.scope)
            entries = [entry for entry in entries if entry.key == selection.scope]
        return entries, len(entries)
    limit = place.limit if selection.takes_all else 0
    return await cache.snapshot_at(revision, selection.scope, start=place.start, limit=limit)


async def _matching(cache: WatchCache, selection: Selection, entries: list[Entry]) -> list[Entry]:
    if selection.takes_all:
        return entries
    if len(entries) <= _STEP and not selection.reads_objects:
        return selection.of(entries)
    matching: list[Entry] = []
    for start in range(0, len(entries), _STEP):
        matching += await _matching_of(cache, selection, entries[start : start + _STEP])
        await cache.clock.sleep(0)
    return matching


async def _matching_of(cache: WatchCache, selection: Selection, entries: list[Entry]) -> list[Entry]:
    """Return the entries of one step that match. Entries are decoded in smaller steps, large ones in workers."""
    if not selection.reads_objects:
        return selection.of(entries)
    remaining_bytes = _STEP_BYTES
    for entry in entries:
        if entry.has_fields:
            continue
        if len(entry.raw) > LARGE_BYTES:
            await in_worker(selection.matches, entry)
            continue
        if remaining_bytes <= 0:
            await cache.clock.sleep(0)
            remaining_bytes = _STEP_BYTES
        remaining_bytes -= len(entry.raw)
        selection.matches(entry)
    return selection.of(entries)


async def _first(
    cache: WatchCache, selection: Selection, entries: list[Entry], *, limit: int
) -> tuple[list[Entry], bool]:
    """Return the first ``limit`` that match, and whether any object, matching or not, follows them."""
    matching: list[Entry] = []
    for start in range(0, len(entries), _STEP):
        matching += await _matching_of(cache, selection, entries[start : start + _STEP])
        if len(matching) >= limit:
            break
        await cache.clock.sleep(0)
    if len(matching) < limit:
        return matching, False
    return matching[:limit], entries[-1].key != matching[limit - 1].key


def _expired(place: _Place, options: ListOptions) -> StatusError:
    """Return 410; for a continue token, with a token that continues in the present."""
    if not options.continue_token:
        return resource_expired(_TOO_OLD)
    error = resource_expired(_CONTINUE_TOO_OLD)
    error.status["metadata"] = {"continue": encode_continue(place.start[len(options.selection.base) :], -1)}
    return error


def parse_version(text: str) -> int:
    """Return a resourceVersion as a number, 0 for none. Raises ValueError with the text that clients know."""
    if not text:
        return 0
    if not _UNSIGNED.fullmatch(text):
        raise ValueError(_bad_version(text, "invalid syntax"))
    number = int(text) if len(text) <= _DIGITS_MAX else _UINT64
    if number >= _UINT64:
        raise ValueError(_bad_version(text, "value out of range"))
    return number


def _bad_version(text: str, reason: str) -> FieldError:
    return field.invalid("resourceVersion", text, f"strconv.ParseUint: parsing {quote(text)}: {reason}")
