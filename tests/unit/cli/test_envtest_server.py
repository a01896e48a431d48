"""Flags and certificates of API servers of envtest; their processes: ``tests/e2e/test_envtest.py``."""

from pathlib import Path

import pytest

from steersman.cli.envtest_server import copy_pki, prepare_pki, server_flags
from steersman.testing.envtest.assets import EnvtestOptions

DATA = Path("/data")


def test_certificates_of_the_cert_dir_are_used(tmp_path):
    flags = server_flags([f"--cert-dir={tmp_path}"], EnvtestOptions(), DATA)
    assert flags == ["--data-dir=/data", "--storage=memory"]
    for name in ("apiserver.crt", "apiserver.key"):
        (tmp_path / name).touch()
    flags = server_flags(["--cert-dir", str(tmp_path)], EnvtestOptions(), DATA)
    assert flags[2:] == [
        f"--tls-cert-file={tmp_path}/apiserver.crt",
        f"--tls-private-key-file={tmp_path}/apiserver.key",
    ]
    value = ["--tls-cert-file=own.crt", "--tls-private-key-file=own.key"]
    assert server_flags([f"--cert-dir={tmp_path}", *value], EnvtestOptions(), DATA)[2:] == value


@pytest.mark.parametrize("etcd", [["--etcd-servers=http://h:1"], ["--etcd-servers", "http://h:1"]])
def test_storage_is_ours(etcd):
    flags = server_flags([*etcd, "--secure-port=1"], EnvtestOptions(storage="sqlite"), DATA)
    assert flags == ["--data-dir=/data", "--storage=sqlite", "--secure-port=1"]


def test_nodes_run_with_controllers():
    flags = server_flags(["--secure-port=1"], EnvtestOptions(with_controllers=True), DATA)
    assert {"--nodes=1", "--wait=false"} <= set(flags)


def test_prepared_certificates_are_copied_and_own_ones_kept(tmp_path):
    template, directory = tmp_path / "template", tmp_path / "pki"
    copy_pki(template, directory)
    assert not directory.exists()
    prepare_pki(template)
    copy_pki(template, directory)
    assert (directory / "ca.crt").read_bytes() == (template / "ca.crt").read_bytes()
    assert not (directory / ".lock").exists()
    (directory / "ca.crt").write_bytes(b"own")
    copy_pki(template, directory)
    assert (directory / "ca.crt").read_bytes() == b"own"
