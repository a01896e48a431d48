from __future__ import annotations

import importlib.util
from uuid import uuid4

import pytest

from steersman.asynckit.clock import RealClock
from steersman.controlplane import etcd
from steersman.controlplane.etcd import open_etcd_store
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.storage.store import Put


async def test_keys_lie_below_the_prefix_of_the_flag(etcd_url):
    prefix = f"/{uuid4().hex}"
    options = APIServerOptions(etcd_servers=(etcd_url,), etcd_prefix=f"{prefix}/", etcd_compaction_interval_seconds=0)
    store = await open_etcd_store(options, clock=RealClock())
    await store.txn([Put("/registry/pods/ns/a", b"1")])
    assert [kv.key for kv in (await store.range("/registry/pods/")).kvs] == ["/registry/pods/ns/a"]
    raw = await store._client.range(f"{prefix}/pods/ns/a".encode())
    assert [kv.value for kv in raw.kvs] == [b"1"]
    await store.close()


async def test_invalid_server_is_an_option_error():
    with pytest.raises(OptionError, match="--etcd-servers: ftp://a: the scheme must be http, https or unix"):
        await open_etcd_store(APIServerOptions(etcd_servers=("ftp://a",)), clock=RealClock())


async def test_missing_hpack_names_the_extra(monkeypatch):
    monkeypatch.setattr(etcd, "find_spec", lambda _name: None)
    assert importlib.util.find_spec("hpack") is not None
    with pytest.raises(OptionError, match=r"pip install 'steersman\[etcd\]'"):
        await open_etcd_store(APIServerOptions(etcd_servers=("http://a",)), clock=RealClock())
