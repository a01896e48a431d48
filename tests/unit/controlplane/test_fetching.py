"""Documents by HTTPS."""

import base64
from urllib.error import HTTPError

import pytest
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.controlplane.apiserver import APIServer
from steersman.controlplane.fetching import HTTPSFetcher
from steersman.controlplane.options import APIServerOptions


@pytest.fixture
async def server(tmp_path):
    started = await APIServer.start(APIServerOptions(ephemeral=True, data_dir=tmp_path, secure_port=0))
    yield started
    await started.stop(grace_seconds=0)


def authorities(directory):
    return (directory / "pki" / "ca.crt").read_text()


async def test_fetch_verifies_the_server_certificate(server, tmp_path):
    assert await HTTPSFetcher(authorities(tmp_path)).fetch(f"{server.url}/healthz") == b"ok"
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        await HTTPSFetcher("").fetch(f"{server.url}/healthz")


async def test_refusals_and_other_urls_are_errors(server, tmp_path):
    fetcher = HTTPSFetcher(authorities(tmp_path))
    for url in (f"{server.url}/api", "http://127.0.0.1/x", "file:///etc/hostname"):
        with pytest.raises(OSError, match=r"403|no https"):
            await fetcher.fetch(url)


async def test_refusal_closes_the_connection(server, tmp_path):
    with pytest.raises(HTTPError) as refused:
        await HTTPSFetcher(authorities(tmp_path)).fetch(f"{server.url}/api")
    assert refused.value.closed


async def test_token_is_sent_to_the_url_but_not_to_where_it_redirects():
    seen = []

    async def respond(target, _):
        seen.append((target, hook.authorizations[-1]))
        if target == "/moved":
            return http_response(b"", status=302, headers=f"Location: {hook.url}/document\r\n")
        return http_response(b"document")

    async with WebhookServer(respond) as hook:
        fetcher = HTTPSFetcher(base64.b64decode(ca_bundle()).decode())
        assert await fetcher.fetch(f"{hook.url}/moved", token="secret") == b"document"
        assert await fetcher.fetch(f"{hook.url}/document") == b"document"
    assert seen == [("/moved", "Bearer secret"), ("/document", ""), ("/document", "")]
