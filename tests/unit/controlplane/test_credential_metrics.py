"""Metrics of credentials and authorizers."""

import json
import re

from steersman.testing import InProcessAPIServer

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def test_decisions_are_counted_by_authorizer():
    async with InProcessAPIServer() as server:
        for user in ("system:kube-scheduler", "alice"):
            review = {"spec": {"user": user, "resourceAttributes": {"verb": "list", "resource": "nodes"}}}
            await server.request("POST", REVIEWS, body=json.dumps(review).encode())
        text = (await server.request("GET", "/metrics")).body.decode()
    assert re.findall(r"^apiserver_authorization_decisions_total(.*)$", text, re.MULTILINE) == [
        '{decision="allowed",name="rbac",type="RBAC"} 1'
    ]
    assert "\nserviceaccount_valid_tokens_total 0\n" in text
    assert "\napiserver_client_certificate_expiration_seconds_count 0\n" in text
