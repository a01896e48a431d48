"""kr8s, an asynchronous client, on the event loop of the test."""

import kr8s.asyncio
from kr8s.asyncio.objects import Pod


async def test_pod_becomes_ready(cluster):
    api = await kr8s.asyncio.api(kubeconfig=str(cluster.kubeconfig))
    container = {"name": "web", "image": "nginx"}
    pod = await Pod({"metadata": {"name": "web"}, "spec": {"containers": [container]}}, api=api)
    await pod.create()
    await cluster.aio.wait_for("pod/web", "condition=Ready")
    await pod.refresh()
    assert pod.status.phase == "Running"
