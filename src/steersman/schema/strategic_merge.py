"""Strategic merge patch: a merge patch with list merge keys and directives. Upstream: ``strategicpatch``.

=============================  ====================================================================================
``$patch: replace``            in a map: the rest of the patch replaces it; in an item: the whole list
``$patch: delete``             in a map: it becomes empty; in an item: the stored item of the same key is removed
``$retainKeys``                keys of the map that are kept; all others are removed before the merge
``$deleteFromPrimitiveList/x`` values to remove from the list ``x``
``$setElementOrder/x``         order of the list ``x``; items that it does not name keep their relative places
=============================  ====================================================================================

Fields unknown to the schema merge as in JSON merge patch: maps by key, lists are replaced.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery import errors
from steersman.apimachinery.gotext import to_json, to_value_text
from steersman.apimachinery.trees import copy_tree
from steersman.apimachinery.typemodel import ListOf, MapOf, Struct, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from steersman.apimachinery.errors import StatusError
    from steersman.apimachinery.trees import Tree

    Identity = Callable[[Any], Any]

DIRECTIVE: Final = "$patch"
RETAIN_KEYS: Final = "$retainKeys"
DELETE_PREFIX: Final = "$deleteFromPrimitiveList"
ORDER_PREFIX: Final = "$setElementOrder"

_BAD_PRIMITIVE_LIST: Final = "invalid patch format of primitive list"
_BAD_RETAIN_KEYS: Final = "invalid patch format of retainKeys"
_BAD_ORDER: Final = "invalid patch format of setElementOrder list"
_DROPPED: Final = object()
_first: Final = itemgetter(0)


class Strategy(NamedTuple):
    """Merge strategy of a field's value."""

    type: Type | None
    #: ``merge``, ``replace`` or empty.
    name: str = ""
    merge_key: str = ""
    retain_keys: bool = False

    @property
    def item(self) -> Type | None:
        """Return the type of a list's items, if known."""
        return self.type.item if isinstance(self.type, ListOf) else None


def strategy_of(type_: Type | None, key: str) -> Strategy:
    """Return the strategy of a struct field or map value; empty for unknown ones."""
    if isinstance(type_, MapOf):
        return Strategy(type_.value)
    field = type_.fields.get(key) if isinstance(type_, Struct) else None
    if field is None:
        return Strategy(None)
    name = next((strategy for strategy in field.patch_strategies if strategy != "retainKeys"), "")
    return Strategy(field.type, name, field.patch_merge_key, "retainKeys" in field.patch_strategies)


def strategic_merge(original: Mapping[str, Any], patch: Tree, type_: Type | None) -> Tree:
    """Return the patched object; neither argument is mutated, nothing is shared.

    Raises ``StatusError``: 400 for malformed directives; 500, as upstream, for an unknown ``$patch`` or an item
    without its merge key.
    """
    return _merge_map(copy_tree(original), patch, type_)


def _merge_map(target: Tree, patch: Tree, type_: Type | None) -> Tree:
    """Merge ``patch``, which is not mutated, into ``target``, which is."""
    if DIRECTIVE in patch:
        return _directed_map(patch)
    pending = dict(patch)
    _retain_keys(target, pending)
    _merge_ordered_lists(target, pending, type_)
    deletions: dict[str, Any] = {}
    for key, value in pending.items():
        if key.startswith(DELETE_PREFIX):
            deletions[_list_name(key, DELETE_PREFIX, _BAD_PRIMITIVE_LIST)] = value
        else:
            _merge_value(target, key, value, type_)
    for key, value in deletions.items():
        _delete_values(target, key, value, type_)
    return target


def _directed_map(patch: Tree) -> Tree:
    if patch[DIRECTIVE] == "delete":
        return {}
    if patch[DIRECTIVE] == "replace":
        return {key: copy_tree(value) for key, value in patch.items() if key != DIRECTIVE}
    raise _unknown_directive(patch)


def _unknown_directive(patch: Tree) -> StatusError:
    return errors.plain_error(f"unknown patch type: {to_value_text(patch[DIRECTIVE])} in map: {to_value_text(patch)}")


def _merge_value(target: Tree, key: str, value: Any, type_: Type | None) -> None:
    if value is None:
        target.pop(key, None)
        return
    if not isinstance(value, (dict, list)):  # it replaces whatever its strategy is
        target[key] = value
        return
    if type(target.get(key)) is not type(value):
        fresh = _without_directives(value)
        if fresh is _DROPPED:
            target.pop(key, None)
        else:
            target[key] = fresh
        return
    strategy = strategy_of(type_, key)
    if isinstance(value, dict) and strategy.name != "replace":
        target[key] = _merge_map(target[key], value, strategy.type)
    elif isinstance(value, list) and strategy.name == "merge":
        target[key] = _merge_list(target[key], value, strategy)
    else:
        target[key] = copy_tree(value)


def _without_directives(value: Any) -> Any:
    """Copy a value that has nothing to merge with: nulls and maps with a directive are dropped."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _DROPPED
        members = ((key, _without_directives(member)) for key, member in value.items() if member is not None)
        return {key: member for key, member in members if member is not _DROPPED}
    if isinstance(value, list):
        return [item for item in map(_without_directives, value) if item is not _DROPPED]
    return value


def _retain_keys(target: Tree, pending: Tree) -> None:
    """Drop keys that ``$retainKeys`` does not list; a patched key that it does not list is an error."""
    if RETAIN_KEYS not in pending:
        return
    listed = pending.pop(RETAIN_KEYS)
    if not isinstance(listed, list):
        raise errors.bad_request(_BAD_RETAIN_KEYS)
    retained = {name for name in listed if isinstance(name, str)}
    for key, value in pending.items():
        if value is not None and key not in retained and not key.startswith((DELETE_PREFIX, ORDER_PREFIX)):
            raise errors.bad_request(_BAD_RETAIN_KEYS)
    for key in [key for key in target if key not in retained]:
        del target[key]


def _list_name(key: str, prefix: str, fault: str) -> str:
    list_name, slash, name = key.partition("/")
    if list_name != prefix or not slash:
        raise errors.bad_request(fault)
    return name


def _delete_values(target: Tree, key: str, values: Any, type_: Type | None) -> None:
    """Remove ``values`` from a list of primitives; maps are merged into a list of maps, as upstream."""
    stored = target.get(key)
    if values is None:
        target.pop(key, None)
    elif isinstance(values, list) and isinstance(stored, list) and (values or stored):
        if _are_maps(stored, values):
            target[key] = _merge_list(stored, values, strategy_of(type_, key))
        else:
            identity = identity_of("")
            unwanted = set(map(identity, values))
            target[key] = [item for item in stored if identity(item) not in unwanted]


def _merge_ordered_lists(target: Tree, pending: Tree, type_: Type | None) -> None:
    """Merge and order the lists that have a ``$setElementOrder``; remove both from ``pending``."""
    for directive in [key for key in pending if key.startswith(ORDER_PREFIX)]:
        order = pending.pop(directive)
        key = _list_name(directive, ORDER_PREFIX, _BAD_ORDER)
        stored, patched = target.get(key), pending.get(key)
        lists = (order, [] if key not in target else stored, [] if key not in pending else patched)
        if not all(isinstance(list_, list) for list_ in lists):
            raise errors.bad_request(_BAD_ORDER)
        strategy = strategy_of(type_, key)
        _check_order(patched or [], order, strategy.merge_key)
        if not stored and not patched:
            continue
        target[key] = _merge_in_order(stored, patched, order, strategy)
        pending.pop(key, None)


def _merge_in_order(
    stored: list[Any] | None, patched: list[Any] | None, order: list[Any], strategy: Strategy
) -> list[Any]:
    if patched is None:
        merged = stored or []
    elif stored is None:
        merged = _without_directives(patched)
    elif strategy.name == "merge":
        merged = _merge_list(list(stored), patched, strategy)
    else:
        merged = copy_tree(patched)
    identity = identity_of(strategy.merge_key)
    return _arranged(merged, [*map(identity, merged)], map(identity, order), map(identity, stored or ()))


def _check_order(patched: list[Any], order: list[Any], merge_key: str) -> None:
    """Check that the patch's items are in ``order``, in the same sequence; items to delete need not be."""
    if not patched or not order:
        return
    desired = [item for item in patched if not (isinstance(item, dict) and DIRECTIVE in item)]
    if merge_key:
        _require_maps([*desired, *order])
        _require_keys([*desired, *order], merge_key)
    identity = identity_of(merge_key)
    places = iter(map(identity, order))
    if not all(identity(item) in places for item in desired):  # ``in`` continues where it stopped
        raise errors.plain_error(
            f"The order in patch list:\n{to_value_text(patched)}\n doesn't match {ORDER_PREFIX} list:\n{to_value_text(order)}\n"
        )


def _merge_list(stored: list[Any], patched: list[Any], strategy: Strategy) -> list[Any]:
    """Merge ``patched`` into ``stored``, which may be mutated."""
    if not stored and not patched:
        return stored
    if not _are_maps(stored, patched):
        identity = identity_of("")
        unique = {identity(item): item for item in (*stored, *patched)}
        return _arranged([*unique.values()], [*unique], map(identity, patched), map(identity, stored))
    merge_key = strategy.merge_key
    if not merge_key:
        raise errors.bad_request("cannot merge lists without merge key")
    stored, patched = _apply_item_directives(stored, patched, merge_key)
    return _merge_items(stored, patched, strategy)


def _are_maps(*lists: list[Any]) -> bool:
    """Report whether the items are maps; all must be of one type, and not a list or null."""
    types = {type(item) for list_ in lists for item in list_}
    if list in types:
        raise errors.generic_server_response(422, server_message="lists of lists are not supported")
    if len(types) != 1 or type(None) in types:
        values_text = " ".join(map(to_value_text, lists))
        raise errors.bad_request(f"list element types are not identical: [{values_text}]")
    return dict in types


def _apply_item_directives(stored: list[Any], patched: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Apply item directives; return the remaining items of both lists."""
    plain: list[Any] = []
    deleted: set[Any] = set()
    replaces = False
    identity = identity_of(merge_key)
    for item in patched:
        directive = item.get(DIRECTIVE)
        if DIRECTIVE not in item:
            plain.append(item)
        elif directive == "delete":
            _require_keys([item], merge_key)
            deleted.add(identity(item))
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise errors.plain_error("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if replaces:
        return copy_tree(plain), []
    return [item for item in stored if identity(item) not in deleted] if deleted else stored, plain


def _merge_items(stored: list[Any], patched: list[Any], strategy: Strategy) -> list[Any]:
    """Merge each patched item into the first stored item of its key, or add it; return the items in order."""
    merge_key = strategy.merge_key
    identity = identity_of(merge_key)
    merged = list(stored)
    stored_keys = [identity(item) for item in stored]
    keys = list(stored_keys)
    places = _places(keys)
    patched_keys: list[Any] = []
    for item in patched:
        if merge_key not in item:
            raise _no_merge_key(item, merge_key)
        key = identity(item)
        patched_keys.append(key)
        place = places.setdefault(key, len(merged))
        if place < len(merged):
            merged[place] = _merge_map(merged[place], item, strategy.item)
        else:
            merged.append(copy_tree(item))
            keys.append(key)
    _require_keys(merged, merge_key)
    return _arranged(merged, keys, patched_keys, stored_keys)


def _require_maps(items: Iterable[Any]) -> None:
    if not all(isinstance(item, dict) for item in items):
        raise errors.bad_request(_BAD_ORDER)


def _require_keys(items: Iterable[Any], merge_key: str) -> None:
    for item in items:
        if merge_key not in item:
            raise _no_merge_key(item, merge_key)


def _no_merge_key(item: Any, merge_key: str) -> StatusError:
    return errors.plain_error(f"map: {to_value_text(item)} does not contain declared merge key: {merge_key}")


def identity_of(merge_key: str) -> Identity:
    """Return the identity of list items: the merge key's value, or the item itself. ``1``, ``1.0`` and ``true`` differ."""

    def identity(item: Any) -> Any:
        value = item.get(merge_key) if merge_key and isinstance(item, dict) else item
        kind = type(value)
        if kind is str:
            return value
        return kind, to_json(value) if kind is dict or kind is list else value

    return identity


def _arranged(items: list[Any], keys: list[Any], wanted_order: Iterable[Any], stored_order: Iterable[Any]) -> list[Any]:
    """Return the items, which have ``keys``, named in ``wanted_order`` in that order, the others in the stored one.

    Where both orders compete, an item of the server alone precedes the first named one that was stored behind it.
    """
    wanted_places = _places(wanted_order)
    stored_places = _places(stored_order)
    # Sort key, place in ``stored_order`` (-1 if absent), item. The key is the place in ``wanted_order``, for ``others`` that in
    # ``stored_order``.
    ordered: list[tuple[int, int, Any]] = []
    others: list[tuple[int, int, Any]] = []
    for key, item in zip(keys, items, strict=True):
        place = stored_places.get(key, -1)
        if key in wanted_places:
            ordered.append((wanted_places[key], place, item))
        else:
            others.append((place if place >= 0 else len(stored_places), place, item))
    ordered.sort(key=_first)
    others.sort(key=_first)
    arranged: list[Any] = []
    at = 0
    for _, place, item in ordered:
        while at < len(others) and 0 <= others[at][1] < place:
            arranged.append(others[at][2])
            at += 1
        arranged.append(item)
    return arranged + [other for _, _, other in others[at:]]


def _places(keys: Iterable[Any]) -> dict[Any, int]:
    """Return the first position of each key."""
    places: dict[Any, int] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, place)
    return places
