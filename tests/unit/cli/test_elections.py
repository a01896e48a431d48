"""``steersman elections``."""

from steersman.asynckit.clock import FakeClock
from steersman.cli import elections
from steersman.client import Client
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.storage.memory import MemoryStore
from steersman.testing import InProcessAPIServer


def candidate(namespace):
    return {
        "apiVersion": "coordination.k8s.io/v1beta1",
        "kind": "LeaseCandidate",
        "metadata": {"namespace": namespace, "name": "a"},
        "spec": {
            "leaseName": "lead",
            "binaryVersion": "1.36.0",
            "emulationVersion": "1.36.0",
            "strategy": "OldestEmulationVersion",
        },
    }


async def test_it_tells_of_all_elections_or_of_those_of_a_namespace():
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock, store=MemoryStore(clock=clock)) as server:
        client = Client(LoopbackTransport(server.core.client), clock=clock)
        for namespace in ("default", "kube-system"):
            await client.create(candidate(namespace))
        text = await elections.report(client, namespace=None)
        assert [line for line in text.splitlines() if line.endswith("no Lease")] == [
            "default/lead: no Lease",
            "kube-system/lead: no Lease",
        ]
        assert "NoCandidates: no valid candidate" in text
        assert "kube-system" not in await elections.report(client, namespace="default")


def test_kubeconfig_of_another_format_is_refused(tmp_path, capsys):
    (tmp_path / "config").write_text("text")
    assert elections.run([f"--kubeconfig={tmp_path / 'config'}"]) == 1
    assert capsys.readouterr().err == f"steersman: {tmp_path / 'config'} is no kubeconfig\n"
