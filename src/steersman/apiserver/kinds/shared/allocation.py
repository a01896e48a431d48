"""Ranges of cluster IPs and node ports: bands, candidates and the port bitmap.

A range has a lower band for static (requested) allocations and an upper band that dynamic allocations use first, so
that the two seldom collide (KEP-3070, KEP-3668). Pure: strategies read and write, in the transaction of the object.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.schema.protobuf import MAGIC, MEDIA_TYPE, enclosed, open_envelope
from steersman.schema.protobuf_decoding import decoder_of
from steersman.schema.protobuf_encoding import encoder_of

if TYPE_CHECKING:
    from collections.abc import Iterator

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

IPV4: Final = "IPv4"
IPV6: Final = "IPv6"
#: The shortest prefix allowed for an IPv6 service range.
IPV6_PREFIX_LENGTH_MIN: Final = 64


class Dice(Protocol):
    """Source of random numbers; ``random.Random`` implements it."""

    def randrange(self, stop: int, /) -> int:
        """Return a number in ``range(stop)``."""
        ...

    def getrandbits(self, k: int, /) -> int:
        """Return a number of ``k`` random bits."""
        ...


def lower_band_size(size: int, *, least: int, most: int, step: int) -> int:
    """Return the size of the lower band: ``size // step`` clamped to ``least`` and ``most``, 0 for ranges up to
    ``least``.
    """
    return 0 if size <= least else max(least, min(most, size // step))


def family_of(ip: IPAddress | IPNetwork) -> str:
    """Return ``IPv4`` or ``IPv6``."""
    return IPV4 if ip.version == 4 else IPV6


class AddressRange:
    """Usable addresses of a service CIDR, without the network address and the IPv4 broadcast address."""

    __slots__ = ("_first", "_last", "_lower", "family", "network")

    def __init__(self, network: IPNetwork) -> None:
        """Raises ValueError if the network has no usable address or is an IPv6 network that is too large."""
        if network.version == 6 and network.prefixlen < IPV6_PREFIX_LENGTH_MIN:
            raise ValueError(
                f"the shortest prefix of a service range is {IPV6_PREFIX_LENGTH_MIN}, not {network.prefixlen}"
            )
        self.network: Final = network
        self.family: Final = family_of(network)
        self._first: Final = int(network.network_address) + 1
        self._last: Final = int(network.broadcast_address) - (1 if network.version == 4 else 0)
        if self._last < self._first:
            raise ValueError(f"{network} holds no address for a service")
        self._lower: Final = lower_band_size(network.num_addresses, least=16, most=256, step=16)

    def __contains__(self, ip: IPAddress) -> bool:
        return ip.version == self.network.version and self._first <= int(ip) <= self._last

    @property
    def size(self) -> int:
        """Return the number of usable addresses. Upstream: ``hostsPerNetwork``."""
        return self._last - self._first + 1

    @property
    def first(self) -> IPAddress:
        """Return the first usable address, which the Service ``kubernetes`` has."""
        return self._address(self._first)

    def candidates(self, dice: Dice) -> Iterator[IPAddress]:
        """Yield every address once: the upper band from a random offset, then the lower band likewise."""
        middle = self._first + self._lower
        for start, stop in ((middle, self._last + 1), (self._first, middle)):
            size = stop - start
            if size > 0:
                offset = dice.randrange(size)
                for step in range(size):
                    yield self._address(start + (offset + step) % size)

    def _address(self, number: int) -> IPAddress:
        return IPv4Address(number) if self.network.version == 4 else IPv6Address(number)


class PortRange(msgspec.Struct, frozen=True):
    """Ports from ``first`` to ``last``, inclusive."""

    first: int
    last: int

    def __contains__(self, port: object) -> bool:
        return isinstance(port, int) and self.first <= port <= self.last

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    def candidates(self, dice: Dice) -> Iterator[int]:
        """Yield every port once: the upper band from a random offset, then the lower band likewise."""
        size = self.last - self.first + 1
        lower = lower_band_size(size, least=16, most=128, step=32)
        for start, band in ((self.first + lower, size - lower), (self.first, lower)):
            if band > 0:
                offset = dice.randrange(band)
                for step in range(band):
                    yield start + (offset + step) % band


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    creation_timestamp: None = None


class _RangeAllocation(msgspec.Struct, rename={"api_version": "apiVersion"}):
    """Stored form, compatible with kube-apiserver's ``RangeAllocation``."""

    kind: str = "RangeAllocation"
    api_version: str = "v1"
    metadata: _Metadata = _Metadata()
    range: str = ""
    #: Base64 of the bitmap as a big-endian number; the lowest bit is the first port of the range.
    data: str = ""


#: Message of the kind, which no resource has.
_MESSAGE: Final = "io.k8s.api.core.v1.RangeAllocation"
_decode: Final = msgspec.json.Decoder(_RangeAllocation).decode
_encode: Final = msgspec.json.Encoder().encode


class PortTally:
    """Numbers of ports that a client requested (static) and that the server selected (dynamic), and of failures."""

    __slots__ = ("dynamic", "dynamic_errors", "static", "static_errors")

    def __init__(self) -> None:
        self.static = self.static_errors = self.dynamic = self.dynamic_errors = 0


class PortBitmap:
    """Bitmap of the allocated ports of a range; stored as one value."""

    __slots__ = ("_before", "_bits", "ports", "tally")

    def __init__(self, ports: PortRange, bits: int = 0) -> None:
        self.ports: Final = ports
        self.tally: Final = PortTally()
        self._bits = bits
        self._before: Final = bits

    @classmethod
    def decode(cls, ports: PortRange, value: bytes | None) -> PortBitmap:
        """Decode a stored bitmap (None: empty). Ports of a bitmap stored for another range are remapped.

        Raises ValueError for a value that is no RangeAllocation in JSON or protobuf.
        """
        if value is None:
            return cls(ports)
        stored = _allocation_of(value)
        bits = int.from_bytes(b64decode(stored.data, validate=True), "big")
        first = int(stored.range.partition("-")[0] or ports.first)
        moved = bits << (first - ports.first) if first >= ports.first else bits >> (ports.first - first)
        return cls(ports, moved & ((1 << (ports.last - ports.first + 1)) - 1))

    def encode(self, media_type: str = "") -> bytes:
        """Return the value to store: a RangeAllocation in protobuf if that is the media type, else in JSON."""
        size = (self._bits.bit_length() + 7) // 8
        data = b64encode(self._bits.to_bytes(size, "big")).decode("ascii")
        if media_type == MEDIA_TYPE:
            raw = encoder_of(_MESSAGE).encode({"metadata": {}, "range": str(self.ports), "data": data})
            return enclosed("v1", "RangeAllocation", raw)
        return _encode(_RangeAllocation(range=str(self.ports), data=data)) + b"\n"

    @property
    def changed(self) -> bool:
        """Report whether the bitmap differs from the decoded one."""
        return self._bits != self._before

    def __contains__(self, port: object) -> bool:
        return isinstance(port, int) and port in self.ports and bool(self._bits >> (port - self.ports.first) & 1)

    def __iter__(self) -> Iterator[int]:
        """Yield the allocated ports in ascending order."""
        bits = self._bits
        while bits:
            lowest = bits & -bits
            yield self.ports.first + lowest.bit_length() - 1
            bits ^= lowest

    def allocate(self, port: int) -> None:
        """Allocate a port of the range."""
        self._bits |= 1 << (port - self.ports.first)

    def request(self, port: int) -> str:
        """Allocate a port that a client requests; return the reason if that fails."""
        if port not in self.ports:
            fault = f"provided port is not in the valid range. The range of valid ports is {self.ports}"
        elif port in self:
            fault = "provided port is already allocated"
        else:
            self.allocate(port)
            self.tally.static += 1
            return ""
        self.tally.static_errors += 1
        return fault

    def release(self, port: int) -> None:
        """Release a port; ports outside of the range are ignored."""
        if port in self.ports:
            self._bits &= ~(1 << (port - self.ports.first))

    def allocate_next(self, dice: Dice) -> int | None:
        """Allocate and return a random free port; None if the range is full."""
        for port in self.ports.candidates(dice):
            if port not in self:
                self.allocate(port)
                self.tally.dynamic += 1
                return port
        self.tally.dynamic_errors += 1
        return None


def _allocation_of(value: bytes) -> _RangeAllocation:
    """Return the stored object. Raises ValueError."""
    if not value.startswith(MAGIC):
        return _decode(value)
    envelope = open_envelope(value)
    if (envelope.api_version, envelope.kind) != ("v1", "RangeAllocation"):
        raise DecodeError(f"holds a {envelope.kind} ({envelope.api_version}), expected a RangeAllocation")
    tree = decoder_of(_MESSAGE).decode(envelope.raw)
    return _RangeAllocation(range=tree.get("range", ""), data=tree.get("data", ""))
