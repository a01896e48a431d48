"""Authorization webhook of a started server: the configuration file of docs/authorization.md."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.client import Client
from steersman.client.connecting import connect
from steersman.testing import ControlPlane

PAGE = Path(__file__).parents[2] / "docs" / "authorization.md"


async def respond(path: str, review: Any) -> bytes | None:
    """Deny jane, and have no opinion about others."""
    assert path == "/authorize"
    return http_response({**review, "status": {"denied": review["spec"]["user"] == "jane", "reason": "guarded"}})


def configuration(folder: Path, hook: WebhookServer) -> Path:
    """Return the file of the page, and write the kubeconfig that it names."""
    kubeconfig = folder / "guard.kubeconfig"
    cluster = {"server": f"{hook.url}/authorize", "certificate-authority-data": ca_bundle()}
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "guard", "cluster": cluster}],
                "users": [{"name": "server", "user": {}}],
                "contexts": [{"name": "guard", "context": {"cluster": "guard", "user": "server"}}],
                "current-context": "guard",
            }
        )
    )
    [text] = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    tree = yaml.safe_load(text)
    tree["authorizers"][0]["webhook"]["connectionInfo"]["kubeConfigFile"] = str(kubeconfig)
    file = folder / "authorization.yaml"
    file.write_text(yaml.safe_dump(tree))
    return file


@asynccontextmanager
async def started(file: Path) -> AsyncIterator[Client]:
    plane = ControlPlane(arguments=[f"--authorization-config={file}"])
    await asyncio.to_thread(plane.start)
    try:
        async with connect(plane.kubeconfig) as client:
            yield client
    finally:
        await asyncio.to_thread(plane.stop)


async def review(client: Client, user: str, resource: str) -> dict[str, Any]:
    spec = {"user": user, "resourceAttributes": {"verb": "get", "resource": resource, "namespace": "default"}}
    reviewed = await client.create(
        {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    )
    status: dict[str, Any] = reviewed["status"]
    return status


async def test_webhook_of_the_page_denies_access_to_secrets(tmp_path: Path):
    async with WebhookServer(respond) as hook, started(configuration(tmp_path, hook)) as client:
        assert await review(client, "jane", "secrets") == {"allowed": False, "denied": True, "reason": "guarded"}
        assert await review(client, "jane", "pods") == {"allowed": False}  # excluded by a match condition
        assert (await review(client, "system:kube-scheduler", "pods"))["allowed"] is True
        assert len(hook.targets) == 1


async def test_unreachable_webhook_denies_by_its_failure_policy(tmp_path: Path):
    async with WebhookServer(respond) as hook:
        file = configuration(tmp_path, hook)
    async with started(file) as client:
        status = await review(client, "jane", "secrets")
    assert (status["allowed"], status["denied"]) == (False, True)
    assert status["evaluationError"].startswith(f'Post "{hook.url}/authorize?timeout=3s": ')
