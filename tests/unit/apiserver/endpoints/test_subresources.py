from __future__ import annotations

from tests.unit.apiserver.writing import Server

from steersman.apiserver.endpoints.subresources import subresources
from steersman.apiserver.generic.strategy import Strategy
from steersman.schema.resources import table


async def test_special_subresources_have_endpoints_for_their_verbs():
    async with Server(strategies={"services": Strategy}) as server:
        connect = subresources(server.registry, admission=server.admission, authorizer=None)
        resources = {resource.group_resource: resource for resource in table().resources}
        for (group_resource, subresource), make in connect.items():
            resource = resources[group_resource]
            served = server.registry.get(resource.group, resource.version, resource.name)
            by_name = {sub.name: sub.verbs for sub in resource.subresources}
            verbs = by_name[subresource] if subresource else resource.verbs
            assert set(make(resource, served)) - {"watch"} == set(verbs)


async def test_subresources_of_pods_services_and_nodes_in_discovery_are_served():
    async with Server(strategies={"services": Strategy}) as server:
        connect = subresources(server.registry, admission=server.admission, authorizer=None)
        for resource in table().resources:
            others = {
                sub.name for sub in resource.subresources if sub.kind not in (resource.kind, "Scale", "TokenRequest")
            }
            assert others <= {name for group_resource, name in connect if group_resource == resource.group_resource}
