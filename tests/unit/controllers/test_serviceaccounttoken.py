import base64

import msgspec
import pytest
from lightkube.models.core_v1 import Secret, ServiceAccount

from steersman.apiserver.authn import jws, keys
from steersman.client import tree
from steersman.controllers.serviceaccounttoken.controller import build
from steersman.controllers.serviceaccounttoken.plan import (
    NAME,
    TYPE,
    UID,
    account_key,
    claims,
    filled,
    is_complete,
    is_for,
    without_reference,
)


def secret(*, uid="", data=None, type_=TYPE):
    annotations = {NAME: "robot", **({UID: uid} if uid else {})}
    metadata = {"name": "s", "namespace": "n", "annotations": annotations}
    return msgspec.convert({"metadata": metadata, "type": type_, "data": data or {}}, Secret)


def account(uid="1", secrets=()):
    references = [{"name": name} for name in secrets]
    return msgspec.convert(
        {"metadata": {"name": "robot", "namespace": "n", "uid": uid}, "secrets": references}, ServiceAccount
    )


def test_account_of_is_none_for_other_secrets():
    assert account_key(secret()) == "n/robot"
    assert account_key(secret(type_="Opaque")) == ""


@pytest.mark.parametrize(("uid", "fits"), [("", True), ("1", True), ("2", False)])
def test_account_matches_by_uid_when_set(uid, fits):
    assert is_for(secret(uid=uid), account()) is fits


def test_fill_adds_missing_data_only():
    token = base64.b64encode(b"kept").decode()
    new = filled(secret(data={"token": token}), account(), root_ca=b"CA", sign=lambda _: "new")
    assert {key: base64.b64decode(value) for key, value in new.data.items()} == {
        "token": b"kept", "ca.crt": b"CA", "namespace": b"n",
    }  # fmt: skip
    assert new.metadata.annotations[UID] == "1"
    assert is_complete(new, root_ca=b"CA")
    assert not is_complete(new, root_ca=b"another CA")


def test_token_claims_have_account_and_secret():
    assert claims(account(), secret())["sub"] == "system:serviceaccount:n:robot"
    assert claims(account(), secret())["kubernetes.io/serviceaccount/secret.name"] == "s"


def test_without_secret_removes_the_reference():
    assert without_reference(account(secrets=["s", "t"]), "s").secrets[0].name == "t"
    assert without_reference(account(secrets=["t"]), "s") is None


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "sa.key"
    file.write_bytes(keys.new_private_key().pem())
    return str(file)


async def test_reconcile_fills_a_secret_and_deletes_it_with_its_account(cluster, key_file):
    await cluster.start(build, service_account_private_key_file=key_file)
    await cluster.make("v1", "ServiceAccount", "robot", namespace="default")
    await cluster.make("v1", "Secret", "s", namespace="default", type=TYPE, metadata={"annotations": {NAME: "robot"}})
    obj = await cluster.eventually("v1", "Secret", "s", lambda obj: obj.get("data"), namespace="default")
    assert jws.looks_signed(base64.b64decode(obj["data"]["token"]).decode())
    await cluster.client.delete(tree("v1", "ServiceAccount"), "robot", namespace="default")
    await cluster.eventually("v1", "Secret", "s", lambda obj: obj is None, namespace="default")


async def test_reconcile_removes_a_deleted_secret_from_its_account(cluster, key_file):
    await cluster.start(build, service_account_private_key_file=key_file)
    await cluster.make("v1", "ServiceAccount", "robot", namespace="default", secrets=[{"name": "s"}])
    created = await cluster.make(
        "v1", "Secret", "s", namespace="default", type=TYPE, metadata={"annotations": {NAME: "robot"}}
    )
    await cluster.eventually("v1", "Secret", "s", lambda obj: obj.get("data"), namespace="default")
    await cluster.client.delete_object(created)
    await cluster.eventually("v1", "ServiceAccount", "robot", lambda obj: not obj.get("secrets"), namespace="default")


def test_build_returns_none_without_a_key():
    context = type("Context", (), {"options": type("Options", (), {"service_account_private_key_file": ""})})
    assert build(context) is None
