"""Client of the HTTPS ports of components: a wait for them, tokens with a role, and requests."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
from typing import Any

from tests.unit.listening import connected_to

from steersman.client import Client, tree

ACCOUNTS = tree("v1", "ServiceAccount")


def wait_for_listener(port: int, process: subprocess.Popen[Any]) -> None:
    """Wait until the process listens."""
    while True:
        assert process.poll() is None, "it ended before it listened"
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)


async def make_token(client: Client, account: str, *, role: str = "") -> str:
    """Create a service account, bind it to a role, and return a token."""
    metadata = {"name": account}
    await client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}, namespace="default")
    if role:
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
        }  # fmt: skip
        await client.create(binding)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = await client.create_subresource(ACCOUNTS, account, "token", request, namespace="default")
    return str(answer["status"]["token"])


async def get(port: int, path: str, token: str = "") -> tuple[int, str]:
    """Return status code and body."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    async with connected_to("127.0.0.1", port, tls=context) as (reader, writer):
        authorization = f"Authorization: Bearer {token}\r\n" if token else ""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()
