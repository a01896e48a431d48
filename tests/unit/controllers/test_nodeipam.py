import ipaddress

import msgspec
import pytest
from lightkube.models.core_v1 import Node

from steersman.apimachinery.errors import conflict
from steersman.client import tree
from steersman.controllers.nodeipam.controller import build, ranges
from steersman.controllers.nodeipam.plan import NodeRanges, RangeFull, cidrs_of, parse_cluster, prefix_for
from steersman.controllers.options import ControllerOptions


def cut(text, prefix):
    return NodeRanges(ipaddress.ip_network(text), prefix)


def test_take_allocates_in_order_and_reuses_last():
    result = cut("10.0.0.0/22", 24)
    assert [result.take() for _ in range(2)] == ["10.0.0.0/24", "10.0.1.0/24"]
    result.release("10.0.0.0/24")
    assert [result.take() for _ in range(3)] == ["10.0.2.0/24", "10.0.3.0/24", "10.0.0.0/24"]
    assert result.is_full
    with pytest.raises(RangeFull):
        result.take()


@pytest.mark.parametrize(
    ("occupied", "expected"),
    [
        ("10.0.0.0/24", "10.0.1.0/24"),
        ("10.0.0.0/23", "10.0.2.0/24"),
        ("10.0.0.128/25", "10.0.1.0/24"),
        ("10.0.0.0/8", None),
        ("192.168.0.0/16", "10.0.0.0/24"),
        ("fd00::/64", "10.0.0.0/24"),
        ("nonsense", "10.0.0.0/24"),
    ],
)
def test_take_skips_occupied_cidrs(occupied, expected):
    result = cut("10.0.0.0/22", 24)
    result.occupy(occupied)
    assert (None if result.is_full else result.take()) == expected


@pytest.mark.parametrize(("cluster", "prefix"), [("10.0.0.0/16", 12), ("10.0.0.0/24", 33), ("fd00::/40", 64)])
def test_node_ranges_must_fit_the_cluster_cidr(cluster, prefix):
    with pytest.raises(ValueError, match=r"within|too big"):
        cut(cluster, prefix)


@pytest.mark.parametrize("text", ["", "x", "10.0.0.0/16,10.1.0.0/16"])
def test_parse_cluster_accepts_one_cidr_per_family(text):
    with pytest.raises(ValueError, match="cluster-cidr"):
        parse_cluster(text)


@pytest.mark.parametrize(
    ("cluster", "sizes", "dual", "expected"),
    [("10.0.0.0/8", (0, 0, 0), False, 24), ("fd00::/48", (0, 0, 0), False, 64), ("10.0.0.0/8", (20, 0, 0), False, 20),
     ("10.0.0.0/8", (0, 22, 70), True, 22), ("fd00::/48", (0, 22, 60), True, 60)],
)  # fmt: skip
def test_prefix_for(cluster, sizes, dual, expected):
    general, ipv4, ipv6 = sizes
    assert prefix_for(ipaddress.ip_network(cluster), general=general, ipv4=ipv4, ipv6=ipv6, dual=dual) == expected


@pytest.mark.parametrize(("sizes", "dual"), [((24, 0, 0), True), ((24, 25, 0), False)])
def test_prefix_for_rejects_contradicting_options(sizes, dual):
    general, ipv4, ipv6 = sizes
    with pytest.raises(ValueError, match="node-cidr-mask-size"):
        prefix_for(ipaddress.ip_network("10.0.0.0/8"), general=general, ipv4=ipv4, ipv6=ipv6, dual=dual)


def test_service_cidr_is_excluded():
    options = ControllerOptions(cluster_cidr="10.0.0.0/16", service_cluster_ip_range="10.0.0.0/24,fd00::/112")
    assert ranges(options)[0].take() == "10.0.1.0/24"
    with pytest.raises(ValueError, match="cidr-allocator-type"):
        ranges(ControllerOptions(cluster_cidr="10.0.0.0/16", cidr_allocator_type="CloudAllocator"))


def test_cidrs_of():
    assert cidrs_of(msgspec.convert({"spec": {"podCIDR": "a"}}, Node)) == ["a"]
    assert cidrs_of(msgspec.convert({"spec": {"podCIDR": "a", "podCIDRs": ["a", "b"]}}, Node)) == ["a", "b"]
    assert cidrs_of(Node()) == []


def has(*cidrs):
    return lambda obj: obj["spec"].get("podCIDRs") == list(cidrs)


async def test_nodes_get_cidrs_and_release_them(cluster):
    await cluster.make("v1", "Node", "old", spec={"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24", "fd00::/64"]})
    await cluster.start(build, allocate_node_cidrs=True, cluster_cidr="10.0.0.0/23,fd00::/56")
    await cluster.make("v1", "Node", "a")
    await cluster.eventually("v1", "Node", "a", has("10.0.0.0/24", "fd00:0:0:1::/64"))
    await cluster.make("v1", "Node", "b")
    await cluster.until(lambda: cluster.events("CIDRNotAvailable"))
    await cluster.client.delete(tree("v1", "Node"), "old")
    await cluster.eventually("v1", "Node", "b", has("10.0.1.0/24", "fd00:0:0:2::/64"))


async def test_cidr_of_a_lost_race_is_allocated_to_another_node(cluster):
    """Another client assigned a CIDR first, so the controller's one is free again."""
    controller = await cluster.start(build, allocate_node_cidrs=True, cluster_cidr="10.0.0.0/23")
    controller.client = Refusing(controller.client)
    await cluster.make("v1", "Node", "a")
    await cluster.until(lambda: controller.client.refused)
    await cluster.make("v1", "Node", "b", spec={"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]})
    await cluster.make("v1", "Node", "c")
    await cluster.until(lambda: cluster.events("CIDRNotAvailable"))
    own = {"podCIDR": "192.168.0.0/24", "podCIDRs": ["192.168.0.0/24"]}
    await cluster.client.patch(tree("v1", "Node"), "a", {"spec": own})
    await cluster.eventually("v1", "Node", "c", has("10.0.0.0/24"))


class Refusing:
    """A client that cannot write Node ``a``."""

    def __init__(self, client):
        self._client = client
        self.refused = 0

    async def patch(self, resource, name, *arguments, **options):
        if name == "a":
            self.refused += 1
            raise conflict("nodes", name)
        return await self._client.patch(resource, name, *arguments, **options)


def test_build_returns_none_by_default():
    class Context:
        options = ControllerOptions()

    assert build(Context()) is None
