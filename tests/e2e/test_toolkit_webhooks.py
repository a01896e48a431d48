"""The toolkit's webhook server as authorizer of a started API server."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest
import yaml
from lightkube.models.authorization_v1 import SubjectAccessReviewSpec, SubjectAccessReviewStatus
from lightkube.models.core_v1 import ConfigMap, Secret

from steersman.client import connect
from steersman.client.errors import Forbidden
from steersman.testing import ControlPlane
from steersman.webhooks import SelfSignedCertificate, WebhookServer


def kubeconfig_of(url: str, ca_bundle: bytes) -> str:
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(ca_bundle).decode()}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "webhook", "cluster": cluster}],
            "users": [{"name": "apiserver", "user": {}}],
            "contexts": [{"name": "webhook", "context": {"cluster": "webhook", "user": "apiserver"}}],
            "current-context": "webhook",
        }
    )


@pytest.mark.e2e
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_apiserver_asks_the_webhook_for_its_authorization(tmp_path: Path, version: str) -> None:
    certificate = SelfSignedCertificate()
    server = WebhookServer(certificate, port=0)

    @server.subject_access_review("/authorize")
    async def authorize(spec: SubjectAccessReviewSpec) -> SubjectAccessReviewStatus:
        attributes = spec.resourceAttributes
        is_map = attributes is not None and (attributes.resource, attributes.verb) == ("configmaps", "list")
        return SubjectAccessReviewStatus(allowed=is_map and "readers" in (spec.groups or ()), reason="only maps")

    async with server:
        path = tmp_path / "authorizer.kubeconfig"
        path.write_text(kubeconfig_of(f"https://127.0.0.1:{server.port}/authorize", certificate.ca_bundle))
        arguments = [
            "--authorization-mode=RBAC,Webhook",
            f"--authorization-webhook-config-file={path}",
            f"--authorization-webhook-version={version}",
        ]
        cluster = ControlPlane(arguments=arguments)
        await asyncio.to_thread(cluster.start)
        try:
            kubeconfig = yaml.safe_load(cluster.kubeconfig.read_text())
            kubeconfig["users"][0]["user"] |= {"as": "jane", "as-groups": ["readers"]}
            jane = tmp_path / "jane.kubeconfig"
            jane.write_text(yaml.safe_dump(kubeconfig))
            async with connect(str(jane)) as client:
                assert await client.list(ConfigMap, namespace="default") is not None
                with pytest.raises(Forbidden, match="only maps"):
                    await client.list(Secret, namespace="default")
        finally:
            await asyncio.to_thread(cluster.stop)
