"""Packing of endpoints into slices with few changes. Rules of ``k8s.io/endpointslice``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steersman.client.objects import labels_of, name_of, resource_version_of
from steersman.runtime.structs import replaced, with_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lightkube.models.discovery_v1 import Endpoint, EndpointPort, EndpointSlice

Identity = tuple[object, ...]


@dataclass(slots=True)
class Changes:
    """Slices to create (unnamed), update (in desired form) and delete."""

    create: list[EndpointSlice] = field(default_factory=list)
    update: list[EndpointSlice] = field(default_factory=list)
    delete: list[EndpointSlice] = field(default_factory=list)

    def add(self, other: Changes) -> None:
        """Append the changes of another part of the Service."""
        self.create += other.create
        self.update += other.update
        self.delete += other.delete


def identity_of(endpoint: Endpoint) -> Identity:
    """Return the identity of an endpoint, which is independent of its other fields."""
    target = endpoint.targetRef
    target_key = (target.namespace, target.name) if target is not None else ()
    return (tuple(sorted(endpoint.addresses)), endpoint.hostname or "", target_key)


def ports_key(ports: Iterable[EndpointPort] | None) -> tuple[object, ...]:
    """Return a key that is equal for slices with the same ports in any order."""
    rows = [(port.name or "", port.port or 0, port.protocol or "", port.appProtocol or "") for port in ports or ()]
    return tuple(sorted(rows))


def endpoints_of(slice_: EndpointSlice) -> list[Endpoint]:
    """Return ``endpoints``."""
    return list(slice_.endpoints or ())


def pack(
    existing: Sequence[EndpointSlice],
    desired: Sequence[Endpoint],
    *,
    labels: dict[str, str],
    make: Callable[[list[Endpoint]], EndpointSlice],
    max_endpoints: int,
) -> Changes:
    """Pack endpoints into slices with the same ports.

    Existing endpoints stay in their slice; new ones go into slices that change anyway, the fullest first; then, if the rest
    fits into one slice, into the best fit; otherwise they fill up the fullest slice, and the rest goes into new slices from
    ``make``.

    Upstream puts a rest that fits nowhere into new slices. Here the result does not depend on the number of reconciles that
    added the endpoints, because the cache of pods may lag behind that of Services.
    """
    unmatched: dict[Identity, Endpoint] = {identity_of(endpoint): endpoint for endpoint in desired}
    changed: list[EndpointSlice] = []
    unchanged: list[EndpointSlice] = []
    changes = Changes()
    for slice_ in existing:
        old = endpoints_of(slice_)
        kept_endpoints = [unmatched.pop(same) for same in map(identity_of, old) if same in unmatched]
        if not kept_endpoints and old:
            changes.delete.append(slice_)
        elif kept_endpoints != old or labels_of(slice_) != labels:
            changed.append(_with(slice_, kept_endpoints, labels))
        else:
            unchanged.append(slice_)
    unplaced = list(unmatched.values())
    changed.sort(key=lambda slice_: -len(endpoints_of(slice_)))
    for slice_ in changed:
        has = endpoints_of(slice_)
        room = max(0, max_endpoints - len(has))
        changes.update.append(replaced(slice_, endpoints=has + unplaced[:room]))
        unplaced = unplaced[room:]
    _place_rest(changes, unplaced, unchanged, labels=labels, make=make, max_endpoints=max_endpoints)
    return changes


def _place_rest(
    changes: Changes,
    unplaced: list[Endpoint],
    unchanged: list[EndpointSlice],
    *,
    labels: dict[str, str],
    make: Callable[[list[Endpoint]], EndpointSlice],
    max_endpoints: int,
) -> None:
    if unplaced and not any(_room(slice_, max_endpoints) >= len(unplaced) for slice_ in unchanged):
        unplaced = _fill_fullest(changes, unplaced, unchanged, labels=labels, max_endpoints=max_endpoints)
    while unplaced:
        room = [slice_ for slice_ in unchanged if _room(slice_, max_endpoints) >= len(unplaced)]
        if room:
            fullest = max(room, key=lambda slice_: len(endpoints_of(slice_)))
            changes.update.append(_with(fullest, endpoints_of(fullest) + unplaced, labels))
            return
        changes.create.append(make(unplaced[:max_endpoints]))
        unplaced = unplaced[max_endpoints:]


def _fill_fullest(
    changes: Changes,
    unplaced: list[Endpoint],
    unchanged: list[EndpointSlice],
    *,
    labels: dict[str, str],
    max_endpoints: int,
) -> list[Endpoint]:
    """Fill up the fullest slice with room; return the endpoints that are left."""
    with_room = [slice_ for slice_ in unchanged if _room(slice_, max_endpoints) > 0]
    if not with_room:
        return unplaced
    fullest = max(with_room, key=lambda slice_: len(endpoints_of(slice_)))
    unchanged.remove(fullest)
    room = _room(fullest, max_endpoints)
    changes.update.append(_with(fullest, endpoints_of(fullest) + unplaced[:room], labels))
    return unplaced[room:]


def _room(slice_: EndpointSlice, max_endpoints: int) -> int:
    return max_endpoints - len(endpoints_of(slice_))


def _with(slice_: EndpointSlice, endpoints: list[Endpoint], labels: dict[str, str]) -> EndpointSlice:
    return with_metadata(replaced(slice_, endpoints=endpoints), labels=labels)


def recycle(changes: Changes, *, owner_uid: str) -> Changes:
    """Reuse slices to delete for slices to create, if owner and address family match.

    Only the name of a reused slice is preserved; its metadata is that of the slice to create.
    """
    create, delete, update = list(changes.create), [], list(changes.update)
    for old in changes.delete:
        place = next((i for i, new in enumerate(create) if new.addressType == old.addressType), None)
        if place is None or not is_owned(old, owner_uid):
            delete.append(old)
            continue
        update.append(with_metadata(create.pop(place), name=name_of(old), resourceVersion=resource_version_of(old)))
    return Changes(create, update, delete)


def is_owned(slice_: EndpointSlice, uid: str) -> bool:
    """Report whether the object with this UID owns the slice."""
    references = (slice_.metadata.ownerReferences if slice_.metadata else None) or ()
    return any(reference.uid == uid for reference in references)
