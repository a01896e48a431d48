"""Upgrades of requests to SPDY."""

import pytest
from tests.unit.listening import connected_to
from tests.unit.nodes.kubelet.spdy_client import upgrade_request
from tests.unit.nodes.test_kubelet import Host, kubelet

EXEC = "/exec/ns/p/c?command=a&output=1"


async def answer(path, *protocols):
    """Return the code, headers and text of the response to an upgrade."""
    async with kubelet(Host()) as session, connected_to(session._base_url.host, session._base_url.port) as streams:
        reader, writer = streams
        writer.write(upgrade_request(path, *protocols))
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        code = int(head.split()[1])
        length = [int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")]
        return code, head, (await reader.readexactly(length[0])).decode() if length else ""


@pytest.mark.parametrize(
    ("path", "offered", "chosen"),
    [
        (EXEC, ["v4.channel.k8s.io", "v3.channel.k8s.io"], "v4.channel.k8s.io"),
        (EXEC, ["v5.channel.k8s.io, v2.channel.k8s.io"], "v2.channel.k8s.io"),
        (EXEC, ["channel.k8s.io"], "channel.k8s.io"),
        ("/attach/ns/p/c?output=1", ["v3.channel.k8s.io"], "v3.channel.k8s.io"),
        ("/portForward/ns/p", ["portforward.k8s.io"], "portforward.k8s.io"),
    ],
)
async def test_upgrade_chooses_the_clients_first_supported_protocol(path, offered, chosen):
    code, head, _ = await answer(path, *offered)
    assert code == 101
    assert f"X-Stream-Protocol-Version: {chosen}\r\n" in head
    assert "Upgrade: SPDY/3.1\r\n" in head
    assert "Connection: Upgrade\r\n" in head
    assert "transfer-encoding" not in head.lower()


async def test_upgrade_with_unknown_protocols_names_those_of_the_server():
    code, head, text = await answer(EXEC, "v9.channel.k8s.io")
    assert code == 403
    accepted = [line.split(": ")[1] for line in head.splitlines() if line.startswith("X-Accepted-Stream-Protocol")]
    assert accepted == ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"]
    assert text == (
        "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], "
        "server accepts [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]"
    )


@pytest.mark.parametrize(
    ("offered", "text"),
    [
        ([], "unable to upgrade: header X-Stream-Protocol-Version does not exist in request with 4 headers"),
        ([" , "], "unable to upgrade: header X-Stream-Protocol-Version contains [,], but no valid protocols"),
    ],
)
async def test_upgrade_without_protocols_is_a_bad_request(offered, text):
    code, _, result = await answer(EXEC, *offered)
    assert (code, result) == (400, text)


async def test_websocket_without_common_subprotocol_names_both_transports():
    async with kubelet(Host()) as session, session.get(EXEC) as response:
        assert response.status == 403
        assert (await response.text()).startswith("unable to upgrade: neither SPDY/3.1 nor a WebSocket")
