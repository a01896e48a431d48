from __future__ import annotations

from tests.unit.apiserver.admission.plugged import Plugged, refusal
from tests.unit.apiserver.writing import CONFIG_MAPS

from steersman.apiserver.admission.owner_references import OwnerReferencesPermissionEnforcement
from steersman.apiserver.authz.interface import ALLOW, NO_OPINION

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u"}
BLOCKING = {**OWNER, "blockOwnerDeletion": True}


class Rights:
    """Authorizer that denies one combination of verb, resource and subresource."""

    def __init__(self, *refused):
        self.refused = refused
        self.requests = []

    def authorize(self, user, info):
        self.requests.append((info.verb, info.group, info.resource, info.subresource, info.namespace, info.name))
        return NO_OPINION if (info.verb, info.resource, info.subresource) in self.refused else ALLOW


def guarded(rights):
    server = Plugged()
    return Plugged(lambda _: OwnerReferencesPermissionEnforcement(rights, server.registry.of_kind))


async def test_setting_owners_requires_permission_to_delete():
    async with guarded(Rights(("delete", "configmaps", ""))) as server:
        await server.make(metadata={"ownerReferences": [OWNER]})
        assert (await server.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "v"}})).code == 200
        answer = await server.merge(f"{CONFIG_MAPS}/a", {"metadata": {"ownerReferences": []}})
        assert refusal(answer) == "cannot set an ownerRef on a resource you can't delete: , <nil>"


async def test_blocking_owner_deletion_requires_permission_on_finalizers():
    rights = Rights(("update", "deployments", "finalizers"))
    async with guarded(rights) as server:
        await server.make(metadata={"ownerReferences": [OWNER]})
        body = {"metadata": {"name": "b", "ownerReferences": [BLOCKING]}}
        assert refusal(await server.call("POST", CONFIG_MAPS, body)) == (
            "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"
        )
        assert rights.requests == [("update", "apps", "deployments", "finalizers", "default", "d")]


async def test_blocking_an_owner_of_an_unknown_kind_is_rejected():
    async with guarded(Rights()) as server:
        unknown_owner = {**BLOCKING, "apiVersion": "example.com/v1", "kind": "Thing"}
        body = {"metadata": {"name": "b", "ownerReferences": [unknown_owner]}}
        assert refusal(await server.call("POST", CONFIG_MAPS, body)).endswith(
            'no matches for kind "Thing" in version "example.com/v1"'
        )
