from __future__ import annotations

from tests.unit.apiserver.writing import Server

from steersman.apiserver.endpoints.subresources import subresources
from steersman.schema.resources import table

#: Every subresource that is no plain object and no Scale, but for a token.
ELSEWHERE = {("serviceaccounts", "token")}


async def test_each_subresource_that_is_no_plain_object_has_endpoints_for_its_verbs():
    async with Server() as server:
        connect = subresources(server.registry, admission=server.admission, authorizer=None)
        resources = {resource.group_resource: resource for resource in table().resources}
        for (group_resource, subresource), make in connect.items():
            resource = resources[group_resource]
            served = server.registry.get(resource.group, resource.version, resource.name)
            known = {sub.name: sub.verbs for sub in resource.subresources}
            verbs = known[subresource] if subresource else resource.verbs
            assert set(make(resource, served)) == set(verbs)
