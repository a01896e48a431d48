"""Metric of requests for deprecated API versions."""

import re

from steersman.testing import InProcessAPIServer


async def test_requests_for_deprecated_versions_are_reported():
    async with InProcessAPIServer() as server:
        for path in (
            "/api/v1/pods",
            "/api/v1/endpoints",
            "/apis/coordination.k8s.io/v1beta1/leasecandidates",
            "/apis/x/v1/y",
        ):
            await server.request("GET", path)
        text = (await server.request("GET", "/metrics")).body.decode()
    assert re.findall(r"^apiserver_requested_deprecated_apis(\{.*\}) 1$", text, re.MULTILINE) == [
        '{group="",removed_release="",resource="endpoints",subresource="",version="v1"}',
        '{group="coordination.k8s.io",removed_release="1.39",resource="leasecandidates",subresource="",version="v1beta1"}',
    ]
