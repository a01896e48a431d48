"""Every verb on every resource by a user without permissions: 403, before any other check."""

import pytest

from steersman.apiserver.server.loopback import Loopback
from steersman.schema.resources import table
from steersman.testing import InProcessAPIServer

METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
#: Requests that ``system:basic-user`` allows every authenticated user.
ABOUT_ONESELF = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}


def requests():
    """Return (resource, verb, method, path) of every served resource."""
    for resource in table().resources:
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        scope = f"{root}/namespaces/default" if resource.namespaced else root
        collection = f"{scope}/{resource.name}"
        for verb in resource.verbs:
            path = collection if verb in ("list", "watch", "create", "deletecollection") else f"{collection}/x"
            yield resource.name, verb, METHODS[verb], f"{path}?watch=1" if verb == "watch" else path
        for subresource in resource.subresources:
            for verb in subresource.verbs:
                yield resource.name, verb, METHODS[verb], f"{collection}/x/{subresource.name}"


@pytest.mark.parametrize("user", ["alice", "system:anonymous", "system:serviceaccount:default:robot"])
async def test_requests_without_a_role_are_403(user):
    async with InProcessAPIServer() as server:
        own = server.core.client._headers
        client = Loopback(server.core.app, headers={**own, "impersonate-user": user})
        allowed = []
        for resource, verb, method, path in requests():
            answer = await client.request(method, path)
            if answer.code != 403:
                allowed.append((resource, verb, answer.code))
    expected = set() if user == "system:anonymous" else ABOUT_ONESELF
    assert {resource for resource, _, _ in allowed} == expected


async def test_requests_without_credentials_are_anonymous():
    async with InProcessAPIServer() as server:
        anonymous = server.anonymous()
        codes = {(await anonymous.request(method, path)).code for _, _, method, path in requests()}
    assert codes == {403}
