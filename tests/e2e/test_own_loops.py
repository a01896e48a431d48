"""A server's own loops, across a crash: processes, files and sockets as they are."""

import asyncio
import subprocess
import sys

from tests.busy_machine import HANG_SECONDS

from steersman.client import tree
from steersman.client.connecting import connect
from steersman.testing import ControlPlane

ADVERTISED = "--advertise-address=192.0.2.10"


def published(cluster):
    """Return the only address and port in the Endpoints of the API servers."""

    async def ask():
        async with connect(cluster.kubeconfig) as client:
            return await client.get(tree("v1", "Endpoints"), "kubernetes", namespace="default")

    (subset,) = asyncio.run(ask())["subsets"]
    return f"{subset['addresses'][0]['ip']}:{subset['ports'][0]['port']}"


def test_killed_server_is_published_with_its_new_port():
    with ControlPlane(ephemeral=False, arguments=[ADVERTISED]) as cluster:
        first = published(cluster)
        cluster.kill()
        cluster.start()
        assert published(cluster) == f"192.0.2.10:{cluster.url.rpartition(':')[2]}" != first
        assert "the last run did not stop orderly" in cluster.log


def test_elections_command_prints_elections():
    with ControlPlane() as cluster:
        done = subprocess.run(
            [sys.executable, "-m", "steersman", "elections", f"--kubeconfig={cluster.kubeconfig}"],
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=True,
        )
    assert done.stdout == "no elections\n"
