"""Scenario of endpoints: finally slices, Endpoints and mirrors have each pod once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lightkube.models.core_v1 import Endpoints as EndpointsObject
from lightkube.models.core_v1 import Node, Pod, Service
from lightkube.models.discovery_v1 import EndpointSlice
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import labels_of, name_of

NAMES = ("a", "b")
NODES = ("n1", "n2", "n3")
APPS = ("x", "y")
PODS = 12
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_OWN = "endpointslice-controller.k8s.io"
_MIRROR = "endpointslicemirroring-controller.k8s.io"


class Endpoints(Scenario):
    """Users change Services, pods, Nodes, and the controllers' output."""

    controllers = ("endpointslice", "endpoint", "endpointslicemirroring", "garbagecollector")

    def edits(self) -> Edits:
        return [self.make_service, self.make_service, self.change_service, self.remove_service,
                self.make_pod, self.make_pod, self.make_pod, self.relabel_pod, self.terminate_pod,
                self.make_node, self.break_slice, self.remove_slice, self.write_endpoints]  # fmt: skip

    async def live(self, world: World) -> None:
        """Act as kubelets: set addresses and readiness of pods."""
        for pod in await world.all(Pod):
            if not (pod.status and pod.status.podIPs):
                number = int(name_of(pod)[1:])
                status = {"phase": "Running", "podIP": f"10.0.0.{number + 1}", "podIPs": [{"ip": f"10.0.0.{number + 1}"}],
                          "conditions": [{"type": "Ready", "status": world.dice.choice(["True", "False"])}]}  # fmt: skip
                await self._status(world, pod, status)

    async def _status(self, world: World, pod: Pod, status: dict[str, Any]) -> None:
        await world.client.patch(Pod, name_of(pod), {"status": status}, namespace=NAMESPACE, subresource="status")

    def _spec(self, world: World) -> dict[str, Any]:
        selector = world.dice.choice([None, {"app": "x"}, {"app": "x"}, {"app": "y"}])
        return {"selector": selector, "ports": [{"port": world.dice.choice([80, 81])}]}

    async def make_service(self, world: World) -> None:
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": world.dice.choice(NAMES)}}
        await world.client.create({**body, "spec": self._spec(world)}, namespace=NAMESPACE)

    async def change_service(self, world: World) -> None:
        service = await world.any(Service)
        if service is not None:
            labels = {"team": world.dice.choice(["t", None])}
            patch = {"metadata": {"labels": labels}, "spec": {**self._spec(world), "selector": None}}
            patch["spec"]["selector"] = world.dice.choice([None, {"app": "x"}, {"app": "y"}])
            await world.client.patch(Service, name_of(service), patch, namespace=NAMESPACE)

    async def remove_service(self, world: World) -> None:
        service = await world.any(Service)
        if service is not None:
            await world.client.delete_object(service)

    async def make_pod(self, world: World) -> None:
        name, app = f"p{world.dice.randrange(PODS)}", world.dice.choice(APPS)
        spec = {"nodeName": world.dice.choice(NODES), "containers": [{"name": "c", "image": "image"}]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": app}}, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    async def relabel_pod(self, world: World) -> None:
        pod = await world.any(Pod)
        if pod is not None:
            patch = {"metadata": {"labels": {"app": world.dice.choice([*APPS, "z"])}}}
            await world.client.patch(Pod, name_of(pod), patch, namespace=NAMESPACE)

    async def make_node(self, world: World) -> None:
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": world.dice.choice(NODES)}}
        await world.client.create(body)

    async def break_slice(self, world: World) -> None:
        endpoint_slice = await world.any(EndpointSlice)
        if endpoint_slice is not None:
            patch = {"endpoints": [{"addresses": ["10.9.9.9"]}]}
            await world.client.patch(EndpointSlice, name_of(endpoint_slice), patch, namespace=NAMESPACE)

    async def remove_slice(self, world: World) -> None:
        endpoint_slice = await world.any(EndpointSlice)
        if endpoint_slice is not None:
            await world.client.delete_object(endpoint_slice)

    async def write_endpoints(self, world: World) -> None:
        subsets = [{"addresses": [{"ip": f"192.0.2.{world.dice.randrange(1, 9)}"}], "ports": [{"port": 9}]}]
        body = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": world.dice.choice(NAMES)},
            "subsets": subsets,
        }
        await world.client.apply(body, namespace=NAMESPACE, field_manager="user", force=True)

    async def wrong(self, world: World) -> str:
        pods, nodes = await world.all(Pod), {name_of(node) for node in await world.client.list(Node)}
        slices, services = await world.all(EndpointSlice), await world.all(Service)
        endpoints = {
            name_of(endpoints_of_service): endpoints_of_service
            for endpoints_of_service in await world.all(EndpointsObject)
        }
        for orphan_candidate in slices:
            if labels_of(orphan_candidate)["kubernetes.io/service-name"] not in map(name_of, services):
                return f"{name_of(orphan_candidate)} is an orphan"
        for service in services:
            mine = [
                endpoint_slice
                for endpoint_slice in slices
                if labels_of(endpoint_slice)["kubernetes.io/service-name"] == name_of(service)
            ]
            check = self._wrong_selected if service.spec.selector else self._wrong_mirror
            fault = check(service, mine, pods, nodes, endpoints.get(name_of(service)))
            if fault:
                return f"{name_of(service)}: {fault}"
        return ""

    def _wrong_selected(
        self,
        service: Service,
        slices: list[EndpointSlice],
        pods: list[Pod],
        nodes: set[str],
        endpoints: EndpointsObject | None,
    ) -> str:
        if any(labels_of(endpoint_slice)[_MANAGED_BY] != _OWN for endpoint_slice in slices):
            return "there is still a mirror"
        chosen = [pod for pod in pods if service.spec.selector.items() <= labels_of(pod).items()]
        expected = Counter(pod.status.podIP for pod in chosen if pod.spec.nodeName in nodes)
        reported = Counter(endpoint.addresses[0] for owned_slice in slices for endpoint in owned_slice.endpoints or ())
        if reported != expected or not slices:
            return f"slices tell {reported} instead of {expected}"
        ports = {port.port for endpoint_slice in slices for port in endpoint_slice.ports or ()}
        if expected and ports != {service.spec.ports[0].targetPort}:
            return f"slices tell ports {ports}"
        expected = Counter(pod.status.podIP for pod in chosen if pod.metadata.deletionTimestamp is None)
        reported = Counter(self._reported(endpoints))
        return "" if reported == expected else f"Endpoints tell {reported} instead of {expected}"

    def _wrong_mirror(
        self,
        service: Service,
        slices: list[EndpointSlice],
        pods: list[Pod],
        nodes: set[str],
        endpoints: EndpointsObject | None,
    ) -> str:
        """Return the deviation of mirrored slices; slices from the time with a selector are kept."""
        mirrors = [endpoint_slice for endpoint_slice in slices if labels_of(endpoint_slice)[_MANAGED_BY] == _MIRROR]
        reported = Counter(endpoint.addresses[0] for mirror in mirrors for endpoint in mirror.endpoints or ())
        expected = Counter(self._reported(endpoints))
        return "" if reported == expected else f"mirrors tell {reported} instead of {expected}"

    def _reported(self, endpoints: EndpointsObject | None) -> list[str]:
        subsets = (endpoints.subsets if endpoints is not None else None) or ()
        return [address.ip for row in subsets for address in [*(row.addresses or ()), *(row.notReadyAddresses or ())]]
