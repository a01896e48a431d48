"""Data directories as each released schema left them: ``scripts/write_store_fixture.py``."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from steersman.storage.sqlite import SqliteStore
from steersman.storage.store import Put

ARCHIVES = sorted((Path(__file__).parent / "data").glob("*.tar.gz"))
VALUES = {
    "/beat/node": b"beat 2",
    "/key/again": b"again 2",
    "/key/changed": b"changed 2" + b"x" * 6000,
    "/key/kept": b"kept 1",
    "/key/leased": b"leased 1",
    "/key/ünïcode": bytes(range(256)),
}


def test_fixtures_exist_for_each_schema_closed_and_killed():
    names = {archive.name.removesuffix(".tar.gz") for archive in ARCHIVES}
    assert names == {f"schema-{schema}{state}" for schema in (1, 2, 3) for state in ("", "-killed")}


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name.removesuffix(".tar.gz"))
async def test_data_directory_of_a_release_opens_with_everything_in_it(archive, tmp_path, clock):
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    for _ in range(2):  # as the release left it, and as this one does
        store = await SqliteStore.open(tmp_path / "state.db", clock=clock, squash_prefixes=["/beat/"])
        response = await store.range("/")
        assert {kv.key: kv.value for kv in response.kvs} == VALUES
        assert {kv.key: kv.lease_id for kv in response.kvs if kv.lease_id} == {"/key/leased": 7}
        past = await store.range("/key/", revision=4)
        assert [kv.value for kv in past.kvs] == [b"again 1", b"changed 1", b"kept 1", b"removed 1"]
        revision = store.revision
        await store.close()
    store = await SqliteStore.open(tmp_path / "state.db", clock=clock)
    assert await store.txn([Put("/key/new", b"1")]) == revision + 1
    await store.close()
