"""Allocation of cluster IPs and node ports, in the transaction that writes the Service.

Every cluster IP is an ``IPAddress`` object under its own key, written with the precondition that the key is absent: two
Services never get the same address, and no repair is needed after a crash. Node ports are bits of one stored value,
written with the precondition that it is unchanged; the loser of a race retries.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from steersman.apimachinery import field
from steersman.apimachinery.addresses import parse_cidr, parse_ip
from steersman.apimachinery.errors import internal_error, invalid
from steersman.apiserver.generic.corrupt import corrupt_object
from steersman.apiserver.generic.storage_codec import JSON, UnreadableValueError
from steersman.apiserver.kinds.core.service.allocator_metrics import DYNAMIC, STATIC, AllocatorMetrics
from steersman.apiserver.kinds.core.service.fields import (
    EXTERNAL_NAME,
    cluster_ips,
    is_headless,
    may_have_node_ports,
    needs_health_check_port,
    needs_node_ports,
    node_ports,
)
from steersman.apiserver.kinds.shared.allocation import AddressRange, PortBitmap, PortRange, family_of
from steersman.apiserver.kinds.stored_versions import stored_layout
from steersman.storage.store import Delete, Put

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apimachinery.addresses import IPAddress, IPNetwork
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Layout
    from steersman.apiserver.kinds.shared.allocation import Dice
    from steersman.apiserver.request import RequestContext
    from steersman.storage.store import KeyValue, Op, Store

ADDRESS_PREFIX: Final = "/registry/ipaddresses/"
SERVICE_CIDR_PREFIX: Final = "/registry/servicecidrs/"
NODE_PORTS_KEY: Final = "/registry/ranges/servicenodeports"

FAMILY_LABEL: Final = "ipaddress.kubernetes.io/ip-family"
MANAGED_BY_LABEL: Final = "ipaddress.kubernetes.io/managed-by"
MANAGED_BY: Final = "ipallocator.k8s.io"

#: Random candidates checked one by one; if all are allocated the range is nearly full and is read as a whole.
_PROBES: Final = 16


class ServiceAllocator:
    """Allocator of cluster IPs and node ports. Returns the operations that join the Service's transaction."""

    def __init__(
        self,
        store: Store,
        *,
        networks: Sequence[IPNetwork],
        ports: PortRange,
        dice: Dice,
        media_type: str = JSON,
        metrics: AllocatorMetrics | None = None,
        monotonic: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``networks``: the service range, one network or one of each family; the first has the default family.

        ``media_type``: of the stored IPAddresses and node ports. ``metrics`` counts allocations, but not those of dry runs and
        of checks.
        """
        self._store = store
        self._ranges = tuple(AddressRange(network) for network in networks)
        self._ports = ports
        self._dice = dice
        self._media_type = media_type
        self._metrics = metrics or AllocatorMetrics()
        self._monotonic = monotonic
        self._addresses: Final = stored_layout("ipaddresses.networking.k8s.io", media_type)
        self._cidrs: Final = stored_layout("servicecidrs.networking.k8s.io", media_type)

    @property
    def families(self) -> tuple[str, ...]:
        """Return the cluster's IP families, the default one first."""
        return tuple(dict.fromkeys(addresses.family for addresses in self._ranges))

    # -- the three writes ---------------------------------------------------------------------------------------------

    async def for_create(self, ctx: RequestContext, obj: Tree) -> list[Op]:
        """Allocate addresses and ports of a new Service in ``obj``.

        Raises 422 for unavailable values, 500 when full.
        """
        return await self._for_create(ctx, obj, self._metrics_of(ctx))

    async def check_create(self, ctx: RequestContext, obj: Tree) -> None:
        """Raise as ``for_create``, for a Service that is not stored."""
        await self._for_create(ctx, obj, AllocatorMetrics())

    async def _for_create(self, ctx: RequestContext, obj: Tree, metrics: AllocatorMetrics) -> list[Op]:
        spec = obj["spec"]
        ops = await self._allocate_addresses(ctx, obj, metrics)
        if not may_have_node_ports(spec):
            return ops
        current = await self._store.get(NODE_PORTS_KEY)
        bitmap = read_node_ports(self._ports, current)
        any_port = self._port_picker(ctx, bitmap)
        try:
            self._allocate_node_ports(obj, bitmap, any_port)
            if needs_health_check_port(spec):
                self._allocate_health_check_port(spec, bitmap, any_port)
        finally:
            metrics.count_ports(bitmap.tally)
        return ops + self._bitmap_ops(bitmap, current)

    async def for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> list[Op]:
        """Allocate addresses and ports that an update adds, release those it removes; changes ``obj``.

        Raises as ``for_create``.
        """
        spec, before = obj["spec"], old["spec"]
        if spec == before:
            return []
        metrics = self._metrics_of(ctx)
        ops = await self._allocate_addresses(ctx, obj, metrics, own=cluster_ips(before))
        retained = set(cluster_ips(spec))
        ops += await self._release_addresses(old, [ip for ip in cluster_ips(before) if ip not in retained])
        return ops + await self._ports_for_update(ctx, obj, before, metrics)

    async def check_ports_of_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Raise as ``for_update`` for unavailable ports. Addresses are not checked: they are immutable."""
        await self._ports_for_update(ctx, obj, old["spec"], AllocatorMetrics())

    def _metrics_of(self, ctx: RequestContext) -> AllocatorMetrics:
        """Return the counters of a write; those of dry runs are discarded."""
        return AllocatorMetrics() if ctx.dry_run else self._metrics

    async def _ports_for_update(
        self, ctx: RequestContext, obj: Tree, before: Tree, metrics: AllocatorMetrics
    ) -> list[Op]:
        if not may_have_node_ports(obj["spec"]) and not may_have_node_ports(before):
            return []
        current = await self._store.get(NODE_PORTS_KEY)
        bitmap = read_node_ports(self._ports, current)
        any_port = self._port_picker(ctx, bitmap)
        try:
            self._reallocate_node_ports(obj, node_ports(before), bitmap, any_port)
            self._reallocate_health_check_port(obj, before, bitmap, any_port)
        finally:
            metrics.count_ports(bitmap.tally)
        return self._bitmap_ops(bitmap, current)

    async def for_delete(self, obj: Tree) -> list[Op]:
        """Release all addresses and ports."""
        spec = obj["spec"]
        ops = await self._release_addresses(obj, cluster_ips(spec))
        released = node_ports(spec) | ({spec["healthCheckNodePort"]} if spec.get("healthCheckNodePort") else set())
        if released:
            current = await self._store.get(NODE_PORTS_KEY)
            bitmap = read_node_ports(self._ports, current)
            for port in released:
                bitmap.release(port)
            ops += self._bitmap_ops(bitmap, current)
        return ops

    # -- addresses
    # ------------------------------------------------------------------------------------------------------

    async def _allocate_addresses(
        self, ctx: RequestContext, obj: Tree, metrics: AllocatorMetrics, *, own: Sequence[str] = ()
    ) -> list[Op]:
        """Allocate an address for each family without one. ``own`` are addresses the Service has already."""
        spec = obj["spec"]
        if spec.get("type") == EXTERNAL_NAME or is_headless(spec):
            return []
        ranges = await self.service_ranges()
        ips = cluster_ips(spec)
        ops: list[Op] = []
        for position, family in enumerate(spec.get("ipFamilies") or ()):
            if position < len(ips) and ips[position]:
                if ips[position] in own:
                    continue
                ip = await self._allocate_requested_address(obj, ips[position], ranges, metrics)
            else:
                of_family = [addresses for addresses in ranges if addresses.family == family]
                if ctx.dry_run and of_family:
                    ips[position:] = [
                        str(of_family[0].network.network_address)
                    ]  # any address: dry runs allocate nothing
                    continue
                ip = await self._allocate_any_address(of_family, metrics)
                ips[position:] = [str(ip)]
            ops.append(Put(f"{ADDRESS_PREFIX}{ip}", self._address_value(ctx, obj, ip), expected=0))
        if ips:
            spec["clusterIP"], spec["clusterIPs"] = ips[0], ips
        return ops

    async def _allocate_requested_address(
        self, obj: Tree, text: str, ranges: Sequence[AddressRange], metrics: AllocatorMetrics
    ) -> IPAddress:
        started = self._monotonic()
        ip = parse_ip(text)
        addresses = next((addresses for addresses in ranges if ip is not None and ip in addresses), None)
        if ip is None or addresses is None:
            raise _not_allocated(obj, text, "the provided network does not match the current range")
        if await self._store.get(f"{ADDRESS_PREFIX}{ip}") is not None:
            metrics.address_failed(addresses, STATIC)
            raise _not_allocated(obj, text, "provided IP is already allocated")
        metrics.address_allocated(addresses, STATIC, self._monotonic() - started)
        return ip

    async def _allocate_any_address(self, ranges: Sequence[AddressRange], metrics: AllocatorMetrics) -> IPAddress:
        for addresses in ranges:
            started = self._monotonic()
            ip = await self._free_address(addresses)
            if ip is not None:
                metrics.address_allocated(addresses, DYNAMIC, self._monotonic() - started)
                return ip
            metrics.address_failed(addresses, DYNAMIC)
        raise internal_error("failed to allocate a serviceIP: range is full")

    async def _free_address(self, addresses: AddressRange) -> IPAddress | None:
        """Return a random free address; None if the range is full."""
        probes = 0
        allocated: set[str] | None = None
        for ip in addresses.candidates(self._dice):
            if allocated is not None:
                if str(ip) not in allocated:
                    return ip
                continue
            if await self._store.get(f"{ADDRESS_PREFIX}{ip}") is None:
                return ip
            probes += 1
            if probes == _PROBES:
                allocated = {str(ip) for ip in await self.allocated_addresses()}
        return None

    async def allocated_addresses(self) -> list[IPAddress]:
        """Return the addresses of all IPAddress objects."""
        keys = await self._store.range(ADDRESS_PREFIX, keys_only=True)
        names = (kv.key.removeprefix(ADDRESS_PREFIX) for kv in keys.kvs)
        return [ip for name in names if (ip := parse_ip(name)) is not None]

    async def allocated_ports(self) -> PortBitmap:
        """Return the allocated node ports. Raises 500 if they cannot be read."""
        return read_node_ports(self._ports, await self._store.get(NODE_PORTS_KEY))

    async def service_ranges(self) -> list[AddressRange]:
        """Return the configured ranges and those of ServiceCIDR objects."""
        ranges = {addresses.network: addresses for addresses in self._ranges}
        for kv in (await self._store.range(SERVICE_CIDR_PREFIX)).kvs:
            cidr = _tree_of(self._cidrs, kv)
            if _is_usable(cidr):
                for text in (cidr.get("spec") or {}).get("cidrs") or ():
                    network = parse_cidr(text)
                    if network is not None and network not in ranges:
                        with suppress(ValueError):  # a ServiceCIDR may have no usable address
                            ranges[network] = AddressRange(network)
        return list(ranges.values())

    def _address_value(self, ctx: RequestContext, obj: Tree, ip: IPAddress) -> bytes:
        """Return the encoded IPAddress whose parent is the Service."""
        metadata = obj["metadata"]
        stamp = ctx.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        labels = {FAMILY_LABEL: family_of(ip), MANAGED_BY_LABEL: MANAGED_BY}
        # a Service without a name is only checked, not stored
        parent = {"resource": "services", "namespace": metadata["namespace"], "name": metadata.get("name", "")}
        return self._addresses.stored(
            {
                "metadata": {
                    "name": str(ip),
                    "uid": str(UUID(int=self._dice.getrandbits(128), version=4)),
                    "creationTimestamp": stamp,
                    "labels": labels,
                    "managedFields": [_managed_fields_entry(labels, parent, stamp)],
                },
                "spec": {"parentRef": parent},
            }
        )

    async def _release_addresses(self, obj: Tree, ips: Sequence[str]) -> list[Op]:
        """Return operations that delete the Service's IPAddress objects; those with another parent are kept."""
        ops: list[Op] = []
        metadata = obj["metadata"]
        for text in ips:
            ip = parse_ip(text)
            kv = await self._store.get(f"{ADDRESS_PREFIX}{ip}") if ip is not None else None
            if kv is None:
                continue
            parent = (_tree_of(self._addresses, kv).get("spec") or {}).get("parentRef") or {}
            if (parent.get("namespace"), parent.get("name")) == (metadata.get("namespace"), metadata["name"]):
                ops.append(Delete(kv.key, expected=kv.mod_revision))
        return ops

    # -- ports
    # ----------------------------------------------------------------------------------------------------------

    def _bitmap_ops(self, bitmap: PortBitmap, current: KeyValue | None) -> list[Op]:
        if not bitmap.changed:
            return []
        value = bitmap.encode(self._media_type)
        return [Put(NODE_PORTS_KEY, value, expected=current.mod_revision if current else 0)]

    def _port_picker(self, ctx: RequestContext, bitmap: PortBitmap) -> Callable[[], int]:
        """Return the function that picks a free port; for dry runs any port, without a lookup."""
        return (lambda: self._ports.first) if ctx.dry_run else (lambda: self._allocate_any_port(bitmap))

    def _allocate_node_ports(self, obj: Tree, bitmap: PortBitmap, any_port: Callable[[], int]) -> None:
        """Allocate a node port for every port; ports with the same number and different protocols share one."""
        spec = obj["spec"]
        by_port: dict[int, int] = {}
        for position, port in enumerate(spec.get("ports") or ()):
            requested = port.get("nodePort") or 0
            if not requested and not needs_node_ports(spec):
                continue
            number = port.get("port", 0)
            shared = by_port.get(number)
            if shared is None:
                requested = requested or _requested_port(number, spec["ports"])
                port["nodePort"] = by_port[number] = (
                    self._allocate_port(obj, bitmap, position, requested) if requested else any_port()
                )
            elif not requested:
                port["nodePort"] = shared
            elif requested != shared:
                self._allocate_port(obj, bitmap, position, requested)

    def _reallocate_node_ports(
        self, obj: Tree, before: set[int], bitmap: PortBitmap, any_port: Callable[[], int]
    ) -> None:
        """Allocate node ports like ``_allocate_node_ports``; the Service's current ones may move between its ports."""
        spec = obj["spec"]
        if may_have_node_ports(spec):
            own = set(before)
            seen: set[tuple[str, int]] = set()
            for position, port in enumerate(spec.get("ports") or ()):
                requested = port.get("nodePort") or 0
                if not requested and not needs_node_ports(spec):
                    continue
                if not requested:
                    port["nodePort"] = any_port()
                elif requested not in own:
                    self._allocate_port(obj, bitmap, position, requested)
                own.add(port["nodePort"])
                if (pair := (port.get("protocol", ""), port["nodePort"])) in seen:
                    raise internal_error(f"duplicate nodePort: {pair[1]}/{pair[0]}")
                seen.add(pair)
        for port_number in before - node_ports(spec):
            bitmap.release(port_number)

    def _allocate_port(self, obj: Tree, bitmap: PortBitmap, position: int, port: int) -> int:
        path = field.Path("spec", "ports").index(position).child("nodePort")
        if fault := bitmap.request(port):
            raise _invalid(obj, field.invalid(path, port, fault))
        return port

    def _allocate_any_port(self, bitmap: PortBitmap) -> int:
        port = bitmap.allocate_next(self._dice)
        if port is None:
            raise internal_error("failed to allocate a nodePort: range is full")
        return port

    def _allocate_health_check_port(self, spec: Tree, bitmap: PortBitmap, any_port: Callable[[], int]) -> None:
        requested = spec.get("healthCheckNodePort")
        if not requested:
            spec["healthCheckNodePort"] = any_port()
        elif fault := bitmap.request(requested):
            raise internal_error(f"failed to allocate requested HealthCheck NodePort {requested}: {fault}")

    def _reallocate_health_check_port(
        self, obj: Tree, old: Tree, bitmap: PortBitmap, any_port: Callable[[], int]
    ) -> None:
        spec = obj["spec"]
        before = old.get("healthCheckNodePort") or 0
        if needs_health_check_port(spec):
            if not needs_health_check_port(old):
                self._allocate_health_check_port(spec, bitmap, any_port)
            elif (after := spec.get("healthCheckNodePort") or 0) != before:
                detail = (
                    "cannot change healthCheckNodePort on loadBalancer service with externalTraffic=Local during update"
                )
                raise _invalid(obj, field.invalid(field.Path("spec", "healthCheckNodePort"), after, detail))
        elif before:
            bitmap.release(before)


def read_node_ports(ports: PortRange, current: KeyValue | None) -> PortBitmap:
    """Return the allocated node ports of the stored value; None: nothing is stored yet. Raises 500 if it cannot be read."""
    try:
        return PortBitmap.decode(ports, current.value if current else None)
    except ValueError as error:
        raise corrupt_object(NODE_PORTS_KEY) from error


def _tree_of(layout: Layout, kv: KeyValue) -> Tree:
    """Return the object of a stored value. Raises 500 if it cannot be read."""
    try:
        return layout.entry(kv.key, kv.value, kv.mod_revision).tree()
    except UnreadableValueError as error:
        raise corrupt_object(kv.key) from error


def _is_usable(cidr: Tree) -> bool:
    """Report whether new addresses may come from a ServiceCIDR: not being deleted, and not unready."""
    if cidr["metadata"].get("deletionTimestamp"):
        return False
    conditions = (cidr.get("status") or {}).get("conditions") or ()
    return all(c.get("status") == "True" for c in conditions if c.get("type") == "Ready")


def _managed_fields_entry(labels: dict[str, str], parent: dict[str, str], stamp: str) -> dict[str, Any]:
    """Return the ``managedFields`` entry of an IPAddress created by the API server."""
    return {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": "networking.k8s.io/v1",
        "time": stamp,
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:labels": {".": {}, **{f"f:{label}": {} for label in labels}}},
            "f:spec": {"f:parentRef": {".": {}, **{f"f:{name}": {} for name in parent}}},
        },
    }


def _requested_port(number: int, ports: Sequence[Tree]) -> int:
    """Return the node port requested by any port with that number."""
    return next((p["nodePort"] for p in ports if p.get("port") == number and p.get("nodePort")), 0)


def _not_allocated(obj: Tree, text: str, detail: str) -> Exception:
    path = field.Path("spec", "clusterIPs")
    return _invalid(obj, field.invalid(path, cluster_ips(obj["spec"]), f"failed to allocate IP {text}: {detail}"))


def _invalid(obj: Tree, error: field.FieldError) -> Exception:
    return invalid("Service", obj["metadata"].get("name", ""), [error])
