"""``steersman check-storage``."""

from __future__ import annotations

import asyncio
import base64

import yaml
from tests.unit.cli.stores import write

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.cli.main import main
from steersman.controlplane.encryption import EncryptionAtRest
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Put

SECRET = b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"ns"}}\n'


def configuration(tmp_path, name="key1"):
    keys = {"aesgcm": {"keys": [{"name": name, "secret": base64.b64encode(bytes(32)).decode()}]}}
    rule = {"resources": ["secrets"], "providers": [keys]}
    path = tmp_path / f"{name}.yaml"
    tree = {"kind": "EncryptionConfiguration", "apiVersion": "apiserver.config.k8s.io/v1", "resources": [rule]}
    path.write_text(yaml.safe_dump(tree))
    return path


async def write_encrypted(directory, path):
    encryption = await EncryptionAtRest.open(path, reloads=False, clock=RealClock())
    store = encryption.wrap(await SqliteStore.open(directory / "state.db", clock=FakeClock()))
    await store.txn([Put("/registry/secrets/ns/a", SECRET)])
    await store.close()
    await encryption.close()


def test_check_storage_reports_what_kube_apiserver_would_not_read(tmp_path, capsys):
    asyncio.run(write(tmp_path, name="other"))
    assert main(["check-storage", "--data-dir", str(tmp_path)]) == 1
    assert "/registry/configmaps/ns/one: holds an object named 'other'" in capsys.readouterr().out


def test_check_storage_counts_encrypted_values_without_the_configuration(tmp_path, capsys):
    asyncio.run(write_encrypted(tmp_path, configuration(tmp_path)))
    assert main(["check-storage", "--data-dir", str(tmp_path)]) == 0
    assert "1 encrypted values were not checked; --encryption-provider-config decrypts them" in capsys.readouterr().out
    assert main(["check", "--data-dir", str(tmp_path)]) == 0


def test_check_storage_decrypts_with_the_configuration(tmp_path, capsys):
    path = configuration(tmp_path)
    asyncio.run(write_encrypted(tmp_path, path))
    assert main(["check-storage", "--data-dir", str(tmp_path), f"--encryption-provider-config={path}"]) == 0
    assert "kube-apiserver reads everything that was checked" in capsys.readouterr().out


def test_check_storage_fails_for_values_that_no_provider_decrypts(tmp_path, capsys):
    asyncio.run(write_encrypted(tmp_path, configuration(tmp_path)))
    other = configuration(tmp_path, "key2")
    assert main(["check-storage", "--data-dir", str(tmp_path), f"--encryption-provider-config={other}"]) == 1
    assert "1 encrypted values were not checked" in capsys.readouterr().out


def test_check_storage_fails_for_an_unusable_configuration(tmp_path, capsys):
    asyncio.run(write(tmp_path))
    assert main(["check-storage", "--data-dir", str(tmp_path), "--encryption-provider-config=/nowhere"]) == 1
    assert "cannot read /nowhere" in capsys.readouterr().err
