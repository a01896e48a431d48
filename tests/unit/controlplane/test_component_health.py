"""Address of the health page of the components of ``up``."""

from steersman.controlplane.component_health import health_socket


def test_health_socket_is_an_abstract_name_on_linux_and_never_the_same():
    assert health_socket("linux").startswith("@steersman-")
    assert health_socket("linux") != health_socket("linux")


def test_health_socket_is_a_path_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert health_socket("darwin").startswith(f"{tmp_path}/steersman-")
