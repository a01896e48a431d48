"""``steersman elections``."""

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.cli import elections
from steersman.client import Client
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.controlplane.running_planes import Announcement, RunningPlane, running_directory
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


async def test_elections_prints_all_or_those_of_a_namespace():
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


def lease(name, **spec):
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": "default", "name": name},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15, **spec},
    }


async def test_report_shows_plain_leases_beside_coordinated_ones():
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock, store=MemoryStore(clock=clock)) as server:
        client = Client(LoopbackTransport(server.core.client), clock=clock)
        assert await elections.report(client, namespace="default") == "no elections\n"
        await client.create(lease("operator", leaseTransitions=2))
        plain = await elections.report(client, namespace="default")
        assert plain.startswith("without coordination:\nLEASE ")
        assert plain.splitlines()[-1].split() == ["default/operator", "me", "-", "never", "expired", "2"]
        await client.create(candidate("default"))
        await client.create(lease("lead"))
        both = await elections.report(client, namespace="default")
        assert both.startswith("default/lead: me leads")
        assert "default/lead" not in both[both.index("without coordination") :]


def test_elections_of_the_only_running_control_plane(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    plane = RunningPlane(pid=1, url="https://127.0.0.1:1", kubeconfig=str(tmp_path / "only"), name="dev")
    running = Announcement.make(plane, directory=running_directory())
    assert elections.run([]) == 1
    assert str(tmp_path / "only") in capsys.readouterr().err
    assert elections.run(["--name=dev"]) == 1
    assert str(tmp_path / "only") in capsys.readouterr().err
    running.close()
    assert elections.run(["--name=dev"]) == 1
    assert "no control plane named 'dev' runs here" in capsys.readouterr().err


def test_name_excludes_kubeconfig(capsys):
    with pytest.raises(SystemExit):
        elections.run(["--name=dev", "--kubeconfig=/x"])
    assert "--name excludes --kubeconfig and --context" in capsys.readouterr().err


def test_kubeconfig_of_another_format_is_refused(tmp_path, capsys):
    (tmp_path / "config").write_text("text")
    assert elections.run([f"--kubeconfig={tmp_path / 'config'}"]) == 1
    assert capsys.readouterr().err == f"steersman: {tmp_path / 'config'} is no kubeconfig\n"
