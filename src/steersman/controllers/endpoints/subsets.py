"""The subsets of Endpoints in their one canonical form. Rules of ``pkg/api/v1/endpoints``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightkube.models.core_v1 import EndpointSubset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import EndpointAddress, EndpointPort

    _Key = tuple[str, str]


def repacked(subsets: Iterable[EndpointSubset]) -> list[EndpointSubset]:
    """Addresses with the same ports come into one subset, each once; one that is not ready for some port is not for any.

    Addresses are sorted by their text.
    """
    known: dict[_Key, EndpointAddress] = {}
    unready: set[_Key] = set()
    ports: dict[_Key, dict[tuple[object, ...], EndpointPort]] = {}
    for subset in subsets:
        rows = [(each, True) for each in subset.addresses or ()]
        rows += [(each, False) for each in subset.notReadyAddresses or ()]
        for address, ready in rows:
            key = _key(address)
            known.setdefault(key, address)
            ports.setdefault(key, {}).update((_port_key(port), port) for port in subset.ports or ())
            if not ready:
                unready.add(key)
    groups: dict[tuple[object, ...], list[_Key]] = {}
    for key in sorted(known):
        groups.setdefault(tuple(sorted(ports[key])), []).append(key)
    return [
        EndpointSubset(
            addresses=[known[key] for key in keys if key not in unready] or None,
            notReadyAddresses=[known[key] for key in keys if key in unready] or None,
            ports=list(ports[keys[0]].values()) or None,
        )
        for _, keys in sorted(groups.items(), key=lambda entry: entry[0])
    ]


def _key(address: EndpointAddress) -> _Key:
    return address.ip, (address.targetRef.uid if address.targetRef else None) or ""


def _port_key(port: EndpointPort) -> tuple[object, ...]:
    return (port.name or "", port.port, port.protocol or "", port.appProtocol or "")
