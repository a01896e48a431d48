"""IP address and CIDR libraries."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.netip import address_error, prefix_error
from steersman.cel.functions import Function, Overload, member
from steersman.cel.standard import tenth
from steersman.cel.types import BOOL, INT, STRING, object_type
from steersman.cel.values import EvalError, Opaque

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_NO_PREFIX: Final = "network address parse error during conversion from string"
_Address: TypeAlias = IPv4Address | IPv6Address

IP: Final = object_type("net.IP", {})
CIDR: Final = object_type("net.CIDR", {})
TYPES: Final = {IP.name: IP, CIDR.name: CIDR}


class IPValue(Opaque):
    """An IP address."""

    type_name: ClassVar[str] = IP.name
    __slots__ = ("address",)

    def __init__(self, address: _Address) -> None:
        self.address: Final = address

    @property
    def key(self) -> Any:
        return self.address

    @property
    def cost_size(self) -> int:
        """Return the number of bytes."""
        return len(self.address.packed)

    def __str__(self) -> str:
        return str(self.address)


class CIDRValue(Opaque):
    """An IP address with a prefix length; host bits may be set."""

    type_name: ClassVar[str] = CIDR.name
    __slots__ = ("address", "bits")

    def __init__(self, address: _Address, bits: int) -> None:
        self.address: Final = address
        self.bits: Final = bits

    @property
    def key(self) -> Any:
        return (self.address, self.bits)

    @property
    def cost_size(self) -> int:
        """Return the number of prefix bytes, rounded up."""
        return -(-self.bits // 8)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def holds(self, address: _Address) -> bool:
        """Report whether the network contains the address."""
        return address.version == self.address.version and address in ip_network(str(self), strict=False)


def _address(text: str) -> _Address:
    """Parse an address without a zone that is not IPv4-mapped. Raises EvalError."""
    fault = address_error(text)
    if fault:
        raise EvalError(f"IP Address {quote(text)} parse error during conversion from string: {fault}")
    if "%" in text:
        raise EvalError(f"IP address {quote(text)} with zone value is not allowed")
    return _not_mapped(text, text)


def _not_mapped(address: str, text: str) -> _Address:
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        raise EvalError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return ip


def _ip(text: str) -> IPValue:
    return IPValue(_address(text))


def _can(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except EvalError:
            return False
        return True

    return check


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def _cidr(text: str) -> CIDRValue:
    fault = prefix_error(text)
    if fault:  # upstream adds its words twice
        raise EvalError(f"{_NO_PREFIX}: {_NO_PREFIX}: {fault}")
    address, _, bits = text.rpartition("/")
    try:
        return CIDRValue(_not_mapped(address, text), int(bits))
    except EvalError as error:
        raise EvalError(f"{_NO_PREFIX}: {error}") from None


def _contains_ip(cidr: CIDRValue, other: Any) -> bool:
    if isinstance(other, IPValue):
        return cidr.holds(other.address)
    try:
        address = _address(other)
    except EvalError:  # upstream drops the error of the text
        raise EvalError("no such overload") from None
    return cidr.holds(address)


def _contains_cidr(cidr: CIDRValue, other: Any) -> bool:
    inner = other if isinstance(other, CIDRValue) else _cidr(other)
    return inner.bits >= cidr.bits and cidr.holds(inner.address)


def _masked(cidr: CIDRValue) -> CIDRValue:
    return CIDRValue(ip_network(str(cidr), strict=False).network_address, cidr.bits)


def _is_global_unicast(value: IPValue) -> bool:
    address = value.address
    broadcast = isinstance(address, IPv4Address) and int(address) == 2**32 - 1
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (broadcast or special)


def _is_link_local_multicast(value: IPValue) -> bool:
    address = value.address
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\x00\x00"
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2


def _walk(args: Sequence[Any], _: Any) -> int:
    return tenth(len(args[0])) if isinstance(args[0], str) else 1


def _walk_twice(args: Sequence[Any], _: Any) -> int:
    return tenth(2 * len(args[0]))


def _containing(args: Sequence[Any], _: Any) -> int:
    parsed = tenth(len(args[1])) if isinstance(args[1], str) else 0
    return tenth(2 * args[0].cost_size) + parsed


def _containing_cidr(args: Sequence[Any], result: Any) -> int:
    return _containing(args, result) + tenth(args[0].cost_size) + 1


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    yield Function(
        "ip",
        [
            Overload("string_to_ip", (STRING,), IP, _ip),
            member("cidr_ip", (CIDR,), IP, lambda cidr: IPValue(cidr.address)),
        ],
        cost=_walk,
    )
    yield Function("isIP", [Overload("is_ip", (STRING,), BOOL, _can(_ip))], cost=_walk)
    yield Function("ip.isCanonical", [Overload("ip_is_canonical", (STRING,), BOOL, _is_canonical)], cost=_walk_twice)
    yield Function(
        "string", [Overload("ip_to_string", (IP,), STRING, str), Overload("cidr_to_string", (CIDR,), STRING, str)]
    )
    yield Function("family", [member("ip_family", (IP,), INT, lambda ip: ip.address.version)])
    tests: dict[str, Callable[[IPValue], bool]] = {
        "isUnspecified": lambda ip: ip.address.is_unspecified,
        "isLoopback": lambda ip: ip.address.is_loopback,
        "isLinkLocalMulticast": _is_link_local_multicast,
        "isLinkLocalUnicast": lambda ip: ip.address.is_link_local,
        "isGlobalUnicast": _is_global_unicast,
    }
    for name, test in tests.items():
        yield Function(name, [member(f"ip_{name}", (IP,), BOOL, test)])
    yield Function("cidr", [Overload("string_to_cidr", (STRING,), CIDR, _cidr)], cost=_walk)
    yield Function("isCIDR", [Overload("is_cidr", (STRING,), BOOL, _can(_cidr))], cost=_walk)
    yield Function(
        "containsIP",
        [
            member("cidr_contains_ip_string", (CIDR, STRING), BOOL, _contains_ip),
            member("cidr_contains_ip_ip", (CIDR, IP), BOOL, _contains_ip),
        ],
        cost=_containing,
    )
    yield Function(
        "containsCIDR",
        [
            member("cidr_contains_cidr_string", (CIDR, STRING), BOOL, _contains_cidr),
            member("cidr_contains_cidr", (CIDR, CIDR), BOOL, _contains_cidr),
        ],
        cost=_containing_cidr,
    )
    yield Function("prefixLength", [member("cidr_prefix_length", (CIDR,), INT, lambda cidr: cidr.bits)])
    yield Function("masked", [member("cidr_masked", (CIDR,), CIDR, _masked)])
