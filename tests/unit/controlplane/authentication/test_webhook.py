"""Token webhook of a server."""

import asyncio
import re
from pathlib import Path

import pytest
import yaml
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.asynckit.clock import FakeClock
from steersman.controlplane.authentication.webhook import WebhookAuthentication
from steersman.controlplane.kubeconfig_webhook import read_webhook_kubeconfig
from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.testing import InProcessAPIServer

SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
HUGE_BYTES = 11 * 1024 * 1024


def kubeconfig(path, url, *, ca="webhook-ca"):
    cluster = {"server": url, "certificate-authority-data": ca_bundle(ca)}
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "webhook",
        "clusters": [{"name": "webhook", "cluster": cluster}],
        "users": [{"name": "apiserver", "user": {"token": "secret"}}],
        "contexts": [{"name": "webhook", "context": {"cluster": "webhook", "user": "apiserver"}}],
    }
    path.write_text(yaml.safe_dump(tree))
    return path


async def respond(target, review):
    failures = {
        "/garbage": http_response(b"<html>", kind="text/html"),
        "/redirect": http_response(b"", status=307, headers="Location: https://127.0.0.1:1/\r\n"),
        "/forbidden": http_response(b"", status=403),
    }
    if target == "/huge":
        return http_response(b"x" * HUGE_BYTES)
    if target in failures:
        return failures[target]
    token = review["spec"]["token"]
    status = {"authenticated": token == "good", "user": {"username": "alice", "groups": ["devs"]}}
    if token == "revoked":
        status["error"] = "the token is revoked"
    return http_response({**review, "status": status})


def options(file, **more):
    return APIServerOptions(ephemeral=True, authentication_token_webhook_config_file=file, **more)


def bearer(token):
    return {"authorization": f"Bearer {token}"}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_server_authenticates_by_its_webhook(tmp_path, version):
    async with WebhookServer(respond) as hook:
        file = kubeconfig(tmp_path / "hook", f"{hook.url}/authenticate?x=1")
        configured = options(file, authentication_token_webhook_version=version, api_audiences=("api",))
        async with InProcessAPIServer(options=configured) as server:
            for _ in range(2):
                answer = await server.request("POST", SELF_REVIEWS, body=b"{}", headers=bearer("good"))
                assert answer.json()["status"]["userInfo"]["username"] == "alice"
            assert (await server.request("POST", SELF_REVIEWS, body=b"{}", headers=bearer("bad"))).code == 401
            review = await server.request("POST", TOKEN_REVIEWS, body=b'{"spec":{"token":"revoked"}}')
            assert review.json()["status"] == {"user": {}, "error": "[invalid bearer token, the token is revoked]"}
            review = await server.request("POST", TOKEN_REVIEWS, body=b'{"spec":{"token":"good","audiences":["x"]}}')
            assert review.json()["status"] == {"user": {}, "error": "invalid bearer token"}
            metrics = (await server.request("GET", "/metrics")).body.decode()
        assert hook.targets[0].startswith("/authenticate?x=1")
        assert {body["apiVersion"] for body in hook.bodies} == {f"authentication.k8s.io/{version}"}
        assert hook.bodies[0]["spec"] == {"token": "good", "audiences": ["api"]}
        assert [body["spec"]["token"] for body in hook.bodies] == ["good", "bad", "revoked", "good"]
    lines = re.findall(r"^(?:apiserver_delegated_authn_request|authentication_token_cache).*", metrics, re.MULTILINE)
    assert {
        'apiserver_delegated_authn_request_total{code="200"} 4',
        'authentication_token_cache_request_total{status="hit"} 1',
        'authentication_token_cache_request_total{status="miss"} 4',
        'authentication_token_cache_fetch_total{status="error"} 1',
        'authentication_token_cache_fetch_total{status="ok"} 3',
        'authentication_token_cache_active_fetch_count{status="in_flight"} 0',
    } <= set(lines)


@pytest.mark.parametrize("target", ["/garbage", "/redirect", "/forbidden", "/huge"])
async def test_unusable_answer_is_401(tmp_path, target):
    async with WebhookServer(respond) as hook:
        configured = options(kubeconfig(tmp_path / "hook", f"{hook.url}{target}"))
        async with InProcessAPIServer(options=configured) as server:
            assert (await server.request("POST", SELF_REVIEWS, body=b"{}", headers=bearer("good"))).code == 401


@pytest.mark.parametrize(("ca", "hosts"), [("other-ca", ("127.0.0.1",)), ("webhook-ca", ("example.com",))])
async def test_webhook_with_another_certificate_is_401(tmp_path, ca, hosts):
    async with WebhookServer(respond, hosts=hosts) as hook:
        configured = options(kubeconfig(tmp_path / "hook", hook.url, ca=ca))
        async with InProcessAPIServer(options=configured) as server:
            assert (await server.request("POST", SELF_REVIEWS, body=b"{}", headers=bearer("good"))).code == 401
        assert hook.bodies == []


async def test_unreachable_webhook_is_401(tmp_path):
    async with WebhookServer(respond) as hook:
        file = kubeconfig(tmp_path / "hook", hook.url)
    async with InProcessAPIServer(options=options(file)) as server:
        assert (await server.request("POST", SELF_REVIEWS, body=b"{}", headers=bearer("good"))).code == 401
        assert (await server.request("GET", "/livez")).code == 200


async def test_close_ends_a_review_that_is_never_answered(tmp_path):
    called = asyncio.Event()

    async def hang(target, review):
        del target, review
        called.set()
        await asyncio.Event().wait()

    async with WebhookServer(hang) as hook:
        file = kubeconfig(tmp_path / "hook", hook.url)
        webhook = WebhookAuthentication(options(file), file, audiences=("api",), clock=FakeClock())
        request = asyncio.create_task(webhook.tokens.authenticate_token("good"))
        await called.wait()
        await webhook.close()
        with pytest.raises(asyncio.CancelledError):
            await request


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("nonsense: [", {}, "--authentication-token-webhook-config-file: "),
        ("{}", {}, "--authentication-token-webhook-config-file: .* there is no current-context"),
        (
            "{}",
            {"authentication_token_webhook_version": "v2"},
            '--authentication-token-webhook-version: unsupported authentication webhook version "v2"',
        ),
    ],
)
def test_unusable_options_are_errors(tmp_path, text, more, message):
    (tmp_path / "hook").write_text(text)
    with pytest.raises(OptionError, match=message):
        check_options(options(tmp_path / "hook", data_dir=tmp_path, **more))


def test_kubeconfig_of_the_authentication_page_names_a_webhook(tmp_path):
    page = (Path(__file__).parents[4] / "docs" / "authentication.md").read_text()
    _, text = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for name in ("tokens-ca.crt", "apiserver.crt", "apiserver.key"):
        (tmp_path / name).write_text("PEM")
    (tmp_path / "hook").write_text(text.replace("/etc/steersman", str(tmp_path)))
    access = read_webhook_kubeconfig("--flag", tmp_path / "hook", clock=FakeClock())
    assert (access.server, access.ca) == ("https://tokens.example.com/authenticate", b"PEM")


def test_missing_kubeconfig_is_an_error(tmp_path):
    with pytest.raises(OptionError, match="--authentication-token-webhook-config-file: cannot read"):
        check_options(options(tmp_path / "none"))
