import base64
import hashlib
import hmac
from datetime import UTC, datetime

import msgspec
import pytest
from lightkube.models.core_v1 import ConfigMap, Secret

from steersman.controllers.bootstraptokens import cleaner, signer
from steersman.controllers.bootstraptokens.plan import (
    TYPE,
    detached_signature,
    seconds_to_expiry,
    signed,
    signing_token,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def data(**values):
    source = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true"} | values
    return {key.replace("_", "-"): base64.b64encode(value.encode()).decode() for key, value in source.items()}


def secret(name="bootstrap-token-abcdef", **values):
    return msgspec.convert({"metadata": {"name": name}, "data": data(**values), "type": TYPE}, Secret)


@pytest.mark.parametrize(
    ("obj", "signs"),
    [
        (secret(), True),
        (secret("another-name"), False),
        (secret(usage_bootstrap_signing="false"), False),
        (secret(expiration="2025-12-31T00:00:00Z"), False),
        (secret(expiration="2026-12-31T00:00:00Z"), True),
        (secret(token_secret=""), False),
    ],
)
def test_signing_token_requires_a_complete_unexpired_secret(obj, signs):
    obj.data = {key.replace("_", "-"): value for key, value in obj.data.items()}
    assert (signing_token(obj, now=NOW) is not None) is signs


@pytest.mark.parametrize(
    ("expiration", "seconds"), [("", None), ("2026-01-01T00:01:00Z", 60), ("2025-12-31T23:59:00Z", -60), ("soon", 0)]
)
def test_seconds_to_expiry_of_valid_and_malformed_expirations(expiration, seconds):
    assert seconds_to_expiry(secret(expiration=expiration), now=NOW) == seconds


def test_detached_signature_verifies_with_the_token():
    head, body, signature = detached_signature("content", "abcdef", "secret").encode().split(b".")
    assert body == b""
    assert msgspec.json.decode(base64.urlsafe_b64decode(head + b"==")) == {"alg": "HS256", "kid": "abcdef"}
    payload = base64.urlsafe_b64encode(b"content").rstrip(b"=")
    expected = hmac.new(b"secret", head + b"." + payload, hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(signature + b"=") == expected


def test_signed_removes_other_signatures():
    info = msgspec.convert({"data": {"kubeconfig": "x", "jws-kubeconfig-old": "y", "more": "z"}}, ConfigMap)
    new = signed(info, {"abcdef": "secret"})
    assert sorted(new.data) == ["jws-kubeconfig-abcdef", "kubeconfig", "more"]
    assert signed(new, {"abcdef": "secret"}) is None


def test_signed_without_kubeconfig_is_none():
    assert signed(ConfigMap(), {"abcdef": "secret"}) is None


async def test_cluster_info_is_signed_until_the_token_expires(cluster, clock):
    await cluster.start(signer.build)
    expiration = "2026-01-01T01:00:00Z"
    values = data(expiration=expiration)
    name = "bootstrap-token-abcdef"
    await cluster.make("v1", "Secret", name, namespace="kube-system", type=TYPE, data=values)
    await cluster.make("v1", "ConfigMap", "cluster-info", namespace="kube-public", data={"kubeconfig": "x"})
    key = "jws-kubeconfig-abcdef"
    await cluster.eventually("v1", "ConfigMap", "cluster-info", lambda obj: key in obj["data"], namespace="kube-public")
    await clock.advance(3600)
    await cluster.eventually(
        "v1", "ConfigMap", "cluster-info", lambda obj: key not in obj["data"], namespace="kube-public"
    )


async def test_expired_token_is_deleted(cluster, clock):
    await cluster.start(cleaner.build)
    values = data(expiration="2026-01-01T01:00:00Z")
    name = "bootstrap-token-abcdef"
    await cluster.make("v1", "Secret", name, namespace="kube-system", type=TYPE, data=values)
    await clock.advance(3000)
    assert await cluster.find("v1", "Secret", name, namespace="kube-system")
    await clock.advance(700)
    await cluster.eventually("v1", "Secret", name, lambda obj: obj is None, namespace="kube-system")
