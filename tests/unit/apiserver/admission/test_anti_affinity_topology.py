from __future__ import annotations

from tests.unit.apiserver.admission.plugged import Plugged, refusal

from steersman.apiserver.admission.anti_affinity_topology import LimitPodHardAntiAffinityTopology


def affinity(key):
    term = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": key}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


async def test_required_anti_affinity_is_limited_to_the_hostname_topology():
    async with Plugged(lambda _: LimitPodHardAntiAffinityTopology()) as server:
        assert (await server.pod(affinity=affinity("kubernetes.io/hostname"))).code == 201
        assert refusal(await server.pod("b", affinity=affinity("zone"))) == (
            "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone"
            " but only key kubernetes.io/hostname is allowed"
        )
