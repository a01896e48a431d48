from __future__ import annotations

import pytest

from steersman.asynckit.clock import RealClock
from steersman.storage.etcd import messages
from steersman.storage.etcd.client import Client
from steersman.storage.etcd.members import Members, MemberTLS

CLOCK = RealClock()
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
async def client(etcd_url):
    client = Client(Members([NOWHERE, etcd_url], tls=MemberTLS(), clock=CLOCK), clock=CLOCK)
    yield client
    await client.close()


async def test_read_is_repeated_on_another_member(client, etcd_url):
    assert (await client.revision()).revision >= 1
    assert client.members.current.url == etcd_url


async def test_write_that_was_not_sent_is_repeated_on_another_member(client):
    request = messages.txn_request([], [messages.put_op(b"/client/a", b"1")], [])
    assert (await client.txn(request)).succeeded
    assert [kv.value for kv in (await client.range(b"/client/a")).kvs] == [b"1"]


async def test_lease_is_renewed_on_another_member(client):
    lease = await client.grant_lease(100, 0)
    client.members._current = 0
    assert (await client.keep_alive(lease.lease_id)).ttl_seconds == 100
    await client.revoke_lease(lease.lease_id)
    assert (await client.keep_alive(lease.lease_id)).ttl_seconds <= 0


async def test_status_and_alarms_are_those_of_the_member(client):
    status = await client.status()
    assert status.version.startswith("3.")
    assert status.size_bytes > 0
    assert await client.alarms() == []
