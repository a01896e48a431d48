"""Webhooks of the toolkit in an embedded cluster, whose virtual clock waits for them."""

import pytest
from lightkube.models.core_v1 import ConfigMap
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client.errors import Forbidden
from steersman.testing import EmbeddedCluster, local_webhooks
from steersman.webhooks import SelfSignedCertificate, WebhookServer, denied, mutated

SERVICE = {"name": "demo", "namespace": "default", "path": "/maps"}
CONFIGURATION = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingWebhookConfiguration",
    "metadata": {"name": "demo"},
    "webhooks": [
        {
            "name": "demo.example.com",
            "clientConfig": {"service": SERVICE},
            "rules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
            ],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        }
    ],
}


async def test_writes_pass_through_webhooks_on_the_same_loop():
    certificate = SelfSignedCertificate()
    async with EmbeddedCluster(nodes=0, controllers=[], scheduler=False, clock="virtual") as cluster:
        server = WebhookServer(certificate, port=0, clock=cluster.clock)

        @server.mutating("/maps", ConfigMap)
        def label(request):
            if request.object.data is None:
                return denied("no data")
            request.object.metadata.labels = {"seen": "yes"}
            return mutated(request.object)

        async with server:
            client = cluster.client()
            url = f"https://127.0.0.1:{server.port}"
            for obj in local_webhooks([CONFIGURATION], url=url, ca_bundle=certificate.ca_bundle):
                await client.create(obj)
            for hour in range(3):
                await cluster.clock.advance(3600)
                meta = ObjectMeta(name=f"map-{hour}", namespace="default")
                created = await client.create(ConfigMap(metadata=meta, data={"k": "v"}))
                assert created.metadata.labels == {"seen": "yes"}
            with pytest.raises(Forbidden, match="no data"):
                await client.create(ConfigMap(metadata=ObjectMeta(name="empty", namespace="default")))
