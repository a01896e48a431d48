"""``steersman status``."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from steersman.asynckit.clock import FakeClock
from steersman.cli import status
from steersman.client import Client
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.controlplane.running_planes import Announcement, RunningPlane, running_directory
from steersman.testing import InProcessAPIServer

PLANE = RunningPlane(
    pid=os.getpid(), url="https://127.0.0.1:1", kubeconfig="/none", started="2026-01-02T00:00:00Z", is_whole=True
)


@pytest.mark.parametrize(
    ("seconds", "text"), [(-1, "0s"), (59.9, "59s"), (60, "1m"), (3661, "1h1m"), (86400 * 3 + 7, "3d7s")]
)
def test_age_is_printed_approximately(seconds: float, text: str) -> None:
    assert status.age(seconds) == text


def test_status_prints_local_facts_without_a_request() -> None:
    lines = status.about(PLANE, now=datetime(2026, 1, 2, 0, 1, tzinfo=UTC))
    assert lines[0] == f"https://127.0.0.1:1: a whole control plane, for 1m, process {os.getpid()}"
    assert lines[1].split() == ["data", "in", "memory"]


def test_about_names_a_control_plane_that_has_a_name() -> None:
    named = msgspec.structs.replace(PLANE, name="dev")
    assert status.about(named, now=datetime(2026, 1, 2, tzinfo=UTC))[0].startswith("dev: https://127.0.0.1:1: ")


async def test_status_prints_the_facts_of_the_server() -> None:
    clock = FakeClock()
    async with InProcessAPIServer(clock=clock) as server:
        client = Client(LoopbackTransport(server.core.client), clock=clock)
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": ready})
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}})
        for name, spec in (("kube-scheduler", {"holderIdentity": "me"}), ("free", {})):
            metadata = {"name": name, "namespace": "kube-system"}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            await client.create(lease)
        assert [" ".join(line.split()) for line in await status.report(client)] == [
            "nodes 2, 1 Ready",
            "pods 0",
            "leads kube-scheduler: me",
        ]


def test_status_reports_that_none_runs(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert status.run([]) == 1
    assert "no control plane of yours runs here" in capsys.readouterr().out


def test_status_reports_an_unresponsive_control_plane(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    announcement = Announcement.make(PLANE, directory=running_directory())
    assert status.run([]) == 1
    assert "  does not answer: " in capsys.readouterr().out
    announcement.close()
