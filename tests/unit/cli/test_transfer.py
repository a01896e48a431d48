"""``steersman export-to-etcd``, ``import-from-etcd`` and ``check-storage``, with a real etcd."""

from __future__ import annotations

import asyncio
import subprocess
from uuid import uuid4

import pytest
from scripts.etcd_cluster import find_binary
from tests.unit.cli.stores import write
from tests.unit.cli.test_check_storage import configuration, write_encrypted

from steersman.asynckit.clock import FakeClock
from steersman.cli.main import main
from steersman.schema.protobuf import MEDIA_TYPE, decode_body
from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Put

POD = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"%b","namespace":"ns"},"spec":{"containers":null}}\n'


@pytest.fixture
def prefix():
    return f"/{uuid4().hex}"


def get(url, key):
    """Return the bytes of a key as etcd's own client reads them; empty if there is none."""
    etcdctl = find_binary("etcdctl")
    done = subprocess.run(
        [etcdctl, f"--endpoints={url}", "get", "--print-value-only", key], capture_output=True, check=True
    )
    return done.stdout[:-1]


async def write_pods(directory, count=3):
    store = await SqliteStore.open(directory / "state.db", clock=FakeClock())
    await store.txn([Put(f"/registry/pods/ns/p{i}", POD % f"p{i}".encode()) for i in range(count)])
    await store.close()


async def read_all(directory):
    store = await SqliteStore.open(directory / "state.db", clock=FakeClock())
    by_key = {kv.key: kv.value for kv in (await store.range("/")).kvs}
    await store.close()
    return by_key


def run(command, directory, url, prefix, *more):
    return main([command, f"--data-dir={directory}", f"--etcd-servers={url}", f"--etcd-prefix={prefix}", *more])


def test_export_writes_values_under_upstreams_keys(tmp_path, etcd_url, prefix, capsys):
    asyncio.run(write_pods(tmp_path))
    assert run("export-to-etcd", tmp_path, etcd_url, prefix) == 0
    assert "copied 3 objects; both have the digest " in capsys.readouterr().out
    assert get(etcd_url, f"{prefix}/pods/ns/p1") == POD % b"p1"
    assert get(etcd_url, f"{prefix}/.transfer") == b""


def test_export_in_protobuf_and_import_restore_the_objects(tmp_path, etcd_url, prefix, capsys):
    asyncio.run(write_pods(tmp_path))
    assert run("export-to-etcd", tmp_path, etcd_url, prefix, f"--storage-media-type={MEDIA_TYPE}") == 0
    assert decode_body(get(etcd_url, f"{prefix}/pods/ns/p1"))["metadata"]["name"] == "p1"
    assert main(["check-storage", f"--etcd-servers={etcd_url}", f"--etcd-prefix={prefix}"]) == 0
    assert run("import-from-etcd", tmp_path / "new", etcd_url, prefix) == 0
    restored = asyncio.run(read_all(tmp_path / "new"))
    assert restored.keys() == asyncio.run(read_all(tmp_path)).keys()
    assert restored["/registry/pods/ns/p1"].startswith(b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p1"')
    assert main(["check-storage", "--data-dir", str(tmp_path / "new")]) == 0
    capsys.readouterr()


def test_second_export_to_the_same_etcd_is_refused(tmp_path, etcd_url, prefix, capsys):
    asyncio.run(write_pods(tmp_path))
    assert run("export-to-etcd", tmp_path, etcd_url, prefix) == 0
    assert run("export-to-etcd", tmp_path, etcd_url, prefix) == 1
    assert "the destination holds 3 objects already" in capsys.readouterr().err


def test_export_of_objects_that_kube_apiserver_would_not_read_is_refused(tmp_path, etcd_url, prefix, capsys):
    asyncio.run(write(tmp_path, name="other"))
    assert run("export-to-etcd", tmp_path, etcd_url, prefix) == 1
    err = capsys.readouterr().err
    assert "/registry/configmaps/ns/one: holds an object named 'other'" in err
    assert "1 objects would not be read; nothing was copied" in err


def test_encrypted_values_are_copied_and_need_the_same_prefix(tmp_path, etcd_url, prefix, capsys):
    path = configuration(tmp_path)
    asyncio.run(write_encrypted(tmp_path, path))
    assert run("export-to-etcd", tmp_path, etcd_url, prefix) == 1
    assert "cannot be decrypted under another --etcd-prefix" in capsys.readouterr().err


def test_export_without_a_store_and_to_no_etcd_fails(tmp_path, etcd_url, prefix, capsys):
    assert run("export-to-etcd", tmp_path, etcd_url, prefix) == 1
    assert "no such file" in capsys.readouterr().err
    asyncio.run(write_pods(tmp_path))
    assert run("export-to-etcd", tmp_path, "ftp://127.0.0.1", prefix) == 1
    assert "--etcd-servers" in capsys.readouterr().err
