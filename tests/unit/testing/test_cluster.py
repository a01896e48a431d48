"""A control plane for a test."""

import ssl
import urllib.request

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.processes import ends_with_its_parent, wait_for_end

from steersman.testing.cluster import ControlPlane, ControlPlaneError


def get(cluster: ControlPlane, path: str) -> bytes:
    context = ssl.create_default_context(cafile=cluster.ca)
    request = urllib.request.Request(cluster.url + path, headers={"Authorization": f"Bearer {cluster.token}"})
    with urllib.request.urlopen(request, context=context, timeout=HANG_SECONDS) as answer:
        return answer.read()


def test_control_plane_is_ready_when_entered_and_stopped_when_left():
    with ControlPlane() as cluster:
        assert get(cluster, "/readyz") == b"ok"
        assert cluster.kubeconfig.exists()
        pid, directory = cluster.pid, cluster.kubeconfig.parent
    assert wait_for_end(pid)
    assert not directory.exists()


def test_control_plane_removes_its_temporary_data():
    with ControlPlane(ephemeral=False) as cluster:
        assert (cluster.kubeconfig.parent / "state.db").exists()
        directory = cluster.kubeconfig.parent
    assert not directory.exists()


def test_control_plane_keeps_the_callers_directory_after_a_crash(tmp_path):
    cluster = ControlPlane(ephemeral=False, data_dir=tmp_path).start()
    first = get(cluster, "/api/v1/namespaces/default")
    cluster.kill()
    cluster.start()
    assert get(cluster, "/api/v1/namespaces/default") == first
    cluster.stop()
    assert tmp_path.exists()


def test_control_plane_error_contains_the_log():
    with pytest.raises(ControlPlaneError, match="unknown flag: --nonsense"):
        ControlPlane(arguments=["--nonsense"]).start()


def test_control_plane_ends_with_its_parent(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = "from steersman.testing import ControlPlane; import sys; print(ControlPlane().start().pid, flush=True); sys.stdin.read()"
    assert ends_with_its_parent(code)
    assert list(tmp_path.iterdir()) == []
