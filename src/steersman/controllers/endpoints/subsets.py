"""Canonical form of Endpoints subsets. Rules of ``pkg/api/v1/endpoints``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightkube.models.core_v1 import EndpointSubset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.core_v1 import EndpointAddress, EndpointPort

    _Key = tuple[str, str]


def repacked(subsets: Iterable[EndpointSubset]) -> list[EndpointSubset]:
    """Merge subsets with equal addresses; an address that is unready in one of them is unready.

    Addresses are sorted by their text.
    """
    addresses_by_key: dict[_Key, EndpointAddress] = {}
    ports: dict[tuple[object, ...], EndpointPort | None] = {}
    offered: dict[tuple[object, ...], dict[_Key, bool]] = {}
    for subset in subsets:
        rows = [(address, True) for address in subset.addresses or ()]
        rows += [(address, False) for address in subset.notReadyAddresses or ()]
        for port in subset.ports or (None,):
            of_port = offered.setdefault(_port_key(port), {})
            ports.setdefault(_port_key(port), port)
            for address, ready in rows:
                addresses_by_key.setdefault(_key(address), address)
                of_port[_key(address)] = of_port.get(_key(address), True) and ready
    groups: dict[tuple[tuple[_Key, bool], ...], list[tuple[object, ...]]] = {}
    for port_key, addresses in offered.items():
        if addresses:
            groups.setdefault(tuple(sorted(addresses.items())), []).append(port_key)
    return [
        EndpointSubset(
            addresses=[addresses_by_key[key] for key, ready in addresses if ready] or None,
            notReadyAddresses=[addresses_by_key[key] for key, ready in addresses if not ready] or None,
            ports=[port for key in keys if (port := ports[key]) is not None] or None,
        )
        for addresses, keys in sorted(groups.items(), key=lambda entry: sorted(entry[1]))
    ]


def _key(address: EndpointAddress) -> _Key:
    return address.ip, (address.targetRef.uid if address.targetRef else None) or ""


def _port_key(port: EndpointPort | None) -> tuple[object, ...]:
    """Return the key of a port; empty for addresses without ports."""
    return () if port is None else (port.name or "", port.port, port.protocol or "", port.appProtocol or "")
