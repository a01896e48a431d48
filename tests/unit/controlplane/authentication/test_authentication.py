"""Authentication out of options."""

import msgspec
import pytest

from steersman.apiserver.http import Request
from steersman.asynckit.clock import FakeClock
from steersman.controlplane.authentication.authentication import Authentication
from steersman.controlplane.authentication.service_account_keys import ServiceAccountKeys
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.testing import InProcessAPIServer


def authenticator(**options):
    keys = ServiceAccountKeys(None)
    authentication = Authentication(APIServerOptions(**options), keys=keys, clock=FakeClock(), loopback_token="own")
    return authentication.authenticator


def request(token: str = "") -> Request:
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    return Request({"method": "GET", "path": "/", "query_string": b"", "headers": headers}, receive=None)


async def test_tokens_of_the_file_and_of_the_server_itself_authenticate(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("t,alice,u\n")
    user = authenticator(token_auth_file=path)
    assert (await user.authenticate(request("t"))).name == "alice"
    assert (await user.authenticate(request("own"))).name == "system:apiserver"
    assert (await user.authenticate(request())).name == "system:anonymous"


async def test_anonymous_requests_may_be_refused():
    assert await authenticator(anonymous_auth=False).authenticate(request()) is None


def test_malformed_token_file_is_an_option_error(tmp_path):
    with pytest.raises(OptionError, match="none"):
        authenticator(token_auth_file=tmp_path / "none")


async def test_oidc_provider_is_not_contacted_before_its_first_token():
    user = authenticator(oidc_issuer_url="https://idp.invalid", oidc_client_id="c")
    assert (await user.authenticate(request("own"))).name == "system:apiserver"


@pytest.mark.parametrize(("resource", "name"), [("pods", "p"), ("serviceaccounts", "robot")])
async def test_bound_token_is_invalid_after_the_deletion_of_its_object(resource, name):
    namespace = "/api/v1/namespaces/default"

    async with InProcessAPIServer() as server:

        async def create(path, tree):
            answer = await server.request("POST", f"{namespace}/{path}", body=msgspec.json.encode(tree))
            assert answer.code == 201
            return answer.json()

        await create("serviceaccounts", {"metadata": {"name": "robot"}})
        spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
        pod = await create("pods", {"metadata": {"name": "p"}, "spec": spec})
        bound = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod["metadata"]["uid"]}
        review = await create("serviceaccounts/robot/token", {"spec": {"boundObjectRef": bound, "audiences": []}})
        headers = {"authorization": f"Bearer {review['status']['token']}"}

        async def code():
            return (await server.anonymous().request("GET", "/version", headers=headers)).code

        assert [await code(), await code()] == [200, 200]
        await server.request("DELETE", f"{namespace}/{resource}/{name}?gracePeriodSeconds=0")
        assert await code() == 401
