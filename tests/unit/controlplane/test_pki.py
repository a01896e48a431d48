"""Certificates on disk: made once, renewed in time."""

import datetime as dt
import sys

import pytest

from steersman.controlplane.pki import PKIError, ensure_pki, server_names

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
NAMES = ["localhost"]


def contents(directory) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def directory(tmp_path):
    ensure_pki(tmp_path, NAMES, now=NOW)
    return tmp_path


def changed(directory, before: dict[str, bytes]) -> set[str]:
    after = contents(directory)
    return {name.partition(".")[0] for name in after if after[name] != before.get(name)}


def test_pki_files_are_private(directory):
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


def test_second_start_creates_no_certificates(directory, monkeypatch):
    before = contents(directory)
    monkeypatch.setitem(sys.modules, "steersman.asynckit.certificates", None)
    ensure_pki(directory, NAMES, now=NOW + 300 * DAY)
    assert contents(directory) == before


def test_leaves_are_renewed_before_they_expire(directory):
    before = contents(directory)
    ensure_pki(directory, NAMES, now=NOW + 336 * DAY)
    assert changed(directory, before) == {
        "apiserver",
        "admin",
        "apiserver-kubelet-client",
        "kubelet",
        "front-proxy-client",
    }


def test_server_certificate_is_recreated_for_other_names(directory):
    before = contents(directory)
    ensure_pki(directory, [*NAMES, "192.0.2.1"], now=NOW)
    assert changed(directory, before) == {"apiserver"}


def test_leaves_are_recreated_for_a_new_ca(directory):
    before = contents(directory)
    ensure_pki(directory, NAMES, now=NOW + 3300 * DAY)
    assert changed(directory, before) == {
        "ca",
        "apiserver",
        "admin",
        "front-proxy-ca",
        "front-proxy-client",
        "apiserver-kubelet-client",
        "kubelet",
    }


@pytest.mark.parametrize("name", ["apiserver.crt", "apiserver.key", "apiserver.json"])
def test_missing_leaves_are_recreated(directory, name):
    before = contents(directory)
    (directory / name).unlink()
    ensure_pki(directory, NAMES, now=NOW)
    assert changed(directory, before) == {"apiserver"}


def test_malformed_facts_are_recreated(directory):
    (directory / "admin.json").write_text("{")
    before = contents(directory)
    ensure_pki(directory, NAMES, now=NOW)
    assert changed(directory, before) == {"admin"}


def test_server_certificate_has_service_and_local_names():
    names = server_names("10.96.0.0/12", "0.0.0.0", "192.0.2.10", "")
    assert {"kubernetes.default.svc", "localhost", "127.0.0.1", "::1", "10.96.0.1", "192.0.2.10"} <= set(names)
    assert "0.0.0.0" not in names
    assert "" not in names


@pytest.mark.parametrize("authority", ["ca", "front-proxy-ca"])
@pytest.mark.parametrize("ending", ["key", "crt"])
def test_ca_with_a_missing_file_is_reported_and_kept(directory, authority, ending):
    path = directory / f"{authority}.{ending}"
    path.unlink()
    before = contents(directory)
    with pytest.raises(PKIError, match=f"{path} is missing; restore it, or remove {directory} to create a new CA"):
        ensure_pki(directory, NAMES, now=NOW)
    assert contents(directory) == before


@pytest.mark.parametrize("ending", ["key", "crt"])
@pytest.mark.parametrize("text", [b"", b"nonsense", b"-----BEGIN nonsense"])
def test_ca_with_an_unreadable_file_is_reported_and_kept(directory, ending, text):
    (directory / f"ca.{ending}").write_bytes(text)
    (directory / "ca.json").unlink()
    before = contents(directory)
    with pytest.raises(PKIError, match=f"{directory}/ca.crt and {directory}/ca.key are no usable CA"):
        ensure_pki(directory, NAMES, now=NOW)
    assert contents(directory) == before


@pytest.mark.parametrize("ending", ["key", "crt"])
def test_empty_ca_file_is_reported_despite_its_facts(directory, ending):
    (directory / f"ca.{ending}").write_bytes(b"")
    with pytest.raises(PKIError, match="no usable CA"):
        ensure_pki(directory, NAMES, now=NOW)


def test_ca_with_a_foreign_key_is_reported(directory, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    ensure_pki(other, NAMES, now=NOW)
    (directory / "ca.key").write_bytes((other / "ca.key").read_bytes())
    (directory / "ca.json").unlink()
    with pytest.raises(PKIError, match="the key is not that of the certificate"):
        ensure_pki(directory, NAMES, now=NOW)


def test_facts_of_a_ca_are_recovered_from_its_certificate(directory):
    before = contents(directory)
    (directory / "ca.json").unlink()
    ensure_pki(directory, NAMES, now=NOW)
    assert changed(directory, before) == set()


def test_interrupted_ca_creation_is_repeated(tmp_path):
    (tmp_path / "ca.key").write_text("from a start that was killed")
    pki = ensure_pki(tmp_path, NAMES, now=NOW)
    assert pki.ca.key.read_bytes().startswith(b"-----BEGIN ")


def test_replacement_of_a_ca_is_logged(directory, caplog):
    ensure_pki(directory, NAMES, now=NOW + 3300 * DAY)
    assert f"the CA in {directory}/ca.crt is replaced, as it expires on" in caplog.text
