"""Tokens of an identity provider and of a token webhook, and anonymous requests, at a started server."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import yaml
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.apiserver.authn.keys import new_private_key
from steersman.asynckit.clock import RealClock
from steersman.testing import ControlPlane

KEY = new_private_key()
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def authentication_file(path: Path, issuer: str) -> Path:
    jwt = {
        "issuer": {
            "url": issuer,
            "audiences": ["kube"],
            "certificateAuthority": base64.b64decode(ca_bundle()).decode(),
        },
        "claimMappings": {
            "username": {"expression": "'idp:' + claims.sub"},
            "groups": {"claim": "roles", "prefix": "idp:"},
        },
        "userValidationRules": [{"expression": "user.groups.size() < 3", "message": "too many groups"}],
    }
    anonymous = {"enabled": True, "conditions": [{"path": "/livez"}]}
    kind = {"kind": "AuthenticationConfiguration", "apiVersion": "apiserver.config.k8s.io/v1"}
    path.write_text(yaml.safe_dump({**kind, "jwt": [jwt], "anonymous": anonymous}))
    return path


def webhook_file(path: Path, url: str) -> Path:
    tree = {
        "kind": "Config",
        "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": url, "certificate-authority-data": ca_bundle()}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    }
    path.write_text(yaml.safe_dump(tree))
    return path


async def send(plane: ControlPlane, path: str, token: str = "", body: bytes | None = None) -> tuple[int, Any]:
    """Return status code and body of a request."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = Request(plane.url + path, data=body, headers=headers)
    context = ssl.create_default_context(cafile=plane.ca)

    def exchange() -> tuple[int, bytes]:
        try:
            with urlopen(request, context=context) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()

    code, text = await asyncio.to_thread(exchange)
    return code, json.loads(text) if text.startswith(b"{") else text


async def test_users_of_a_provider_and_of_a_webhook(tmp_path: Path) -> None:
    async def provide(target: str, _: Any) -> bytes:
        documents: dict[str, Any] = {
            "/.well-known/openid-configuration": {"issuer": provider.url, "jwks_uri": f"{provider.url}/keys"},
            "/keys": {"keys": [KEY.jwk()]},
        }
        return http_response(documents[target])

    async def review(_: str, posted: Any) -> bytes:
        is_known = posted["spec"]["token"] == "opaque"
        return http_response({**posted, "status": {"authenticated": is_known, "user": {"username": "bob"}}})

    def token(**claims: Any) -> str:
        expires = RealClock().now().timestamp() + 3600
        return KEY.sign({"iss": provider.url, "aud": "kube", "sub": "alice", "exp": expires, **claims})

    async with WebhookServer(provide) as provider, WebhookServer(review) as hook:
        arguments = [
            f"--authentication-config={authentication_file(tmp_path / 'authentication.yaml', provider.url)}",
            f"--authentication-token-webhook-config-file={webhook_file(tmp_path / 'webhook', hook.url)}",
            "--authentication-token-webhook-version=v1",
        ]
        with ControlPlane(arguments=arguments) as plane:
            code, answer = await send(plane, REVIEWS, token(roles=["ops"]), b"{}")
            assert (code, answer["status"]["userInfo"]) == (
                201,
                {"username": "idp:alice", "groups": ["idp:ops", "system:authenticated"]},
            )
            code, answer = await send(plane, REVIEWS, "opaque", b"{}")
            assert (code, answer["status"]["userInfo"]["username"]) == (201, "bob")
            for refused in (token(roles=["a", "b", "c"]), token(aud="other"), "unknown"):
                assert (await send(plane, REVIEWS, refused, b"{}"))[0] == 401
            assert (await send(plane, "/livez"))[0] == 200
            assert (await send(plane, "/readyz"))[0] == 401
    # Also the webhook reviews what the provider's authenticator rejects.
    assert [posted["spec"]["token"] == "opaque" for posted in hook.bodies] == [True, False, False, False]
