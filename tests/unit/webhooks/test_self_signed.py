"""Certificates of a webhook server's own authority."""

import asyncio

import pytest

from steersman.asynckit.certificates import check_server
from steersman.asynckit.clock import FakeClock
from steersman.client import tree
from steersman.client.errors import Conflict
from steersman.webhooks import SecretCertificate, SelfSignedCertificate
from steersman.webhooks.rotation import CA_CERT, CERT
from steersman.webhooks.self_signed import decoded_data

DAY_SECONDS = 86400
SECRETS = tree("v1", "Secret")


async def test_certificate_of_a_process_is_renewed():
    clock = FakeClock()
    source = SelfSignedCertificate(["127.0.0.1"], clock=clock)
    pair, bundle = await source.load(), source.ca_bundle
    assert await source.load() == pair
    assert check_server(pair.certificate, pair.key, bundle)[1] == ["127.0.0.1"]
    await clock.jump(80 * DAY_SECONDS)
    renewed = await source.load()
    assert renewed != pair
    assert source.ca_bundle == bundle
    check_server(renewed.certificate, renewed.key, bundle)


def certificate_of(client):
    return SecretCertificate(client, "cert", namespace="default", hosts=["webhook.default.svc"])


async def secret(client):
    return await client.get(SECRETS, "cert", namespace="default")


async def test_replicas_share_the_secret_of_the_first(client):
    pairs = await asyncio.gather(*(certificate_of(client).load() for _ in range(3)))
    assert len(set(pairs)) == 1
    stored = await secret(client)
    assert stored["type"] == "kubernetes.io/tls"
    data = decoded_data(stored)
    assert data[CERT] == pairs[0].certificate
    assert check_server(*pairs[0], data[CA_CERT])[1] == ["webhook.default.svc"]
    assert await certificate_of(client).load() == pairs[0]


async def test_secret_is_renewed_and_keeps_what_others_added(client, clock):
    former = await certificate_of(client).load()
    await client.patch(
        SECRETS, "cert", {"data": {"other": "eA=="}, "metadata": {"labels": {"a": "b"}}}, namespace="default"
    )
    await clock.jump(80 * DAY_SECONDS)
    renewed = await certificate_of(client).load()
    stored = await secret(client)
    assert renewed != former
    assert decoded_data(stored)[CERT] == renewed.certificate
    assert (stored["data"]["other"], stored["metadata"]["labels"]) == ("eA==", {"a": "b"})


async def test_empty_secret_is_filled(client):
    empty = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cert", "namespace": "default"}}
    await client.create(empty)
    pair = await certificate_of(client).load()
    assert decoded_data(await secret(client))[CERT] == pair.certificate


async def test_writes_that_always_lose_are_an_error(client, monkeypatch):
    await certificate_of(client).load()

    async def lose(obj):
        raise Conflict({"message": "changed"})

    monkeypatch.setattr(client, "update", lose)
    other = SecretCertificate(client, "cert", namespace="default", hosts=["other"])
    with pytest.raises(Conflict):
        await other.load()
