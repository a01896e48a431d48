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


def test_only_token_secrets_name_an_account():
    assert account_key(secret()) == "n/robot"
    assert account_key(secret(type_="Opaque")) == ""


@pytest.mark.parametrize(("uid", "fits"), [("", True), ("1", True), ("2", False)])
def test_a_uid_is_compared_where_there_is_one(uid, fits):
    assert is_for(secret(uid=uid), account()) is fits


def test_what_is_missing_is_filled_in_and_what_is_there_stays():
    token = base64.b64encode(b"kept").decode()
    new = filled(secret(data={"token": token}), account(), root_ca=b"CA", sign=lambda _: "new")
    assert {key: base64.b64decode(value) for key, value in new.data.items()} == {
        "token": b"kept", "ca.crt": b"CA", "namespace": b"n",
    }  # fmt: skip
    assert new.metadata.annotations[UID] == "1"
    assert is_complete(new, root_ca=b"CA")
    assert not is_complete(new, root_ca=b"another CA")


def test_claims_tell_account_and_secret():
    assert claims(account(), secret())["sub"] == "system:serviceaccount:n:robot"
    assert claims(account(), secret())["kubernetes.io/serviceaccount/secret.name"] == "s"


def test_a_gone_secret_leaves_the_list():
    assert without_reference(account(secrets=["s", "t"]), "s").secrets[0].name == "t"
    assert without_reference(account(secrets=["t"]), "s") is None


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "sa.key"
    file.write_bytes(keys.new_private_key().pem())
    return str(file)


async def test_a_secret_is_filled_and_goes_with_its_account(cluster, key_file):
    await cluster.start(build, service_account_private_key_file=key_file)
    await cluster.make("v1", "ServiceAccount", "robot", namespace="default")
    await cluster.make("v1", "Secret", "s", namespace="default", type=TYPE, metadata={"annotations": {NAME: "robot"}})
    found = await cluster.eventually("v1", "Secret", "s", lambda found: found.get("data"), namespace="default")
    assert jws.looks_signed(base64.b64decode(found["data"]["token"]).decode())
    await cluster.client.delete(tree("v1", "ServiceAccount"), "robot", namespace="default")
    await cluster.eventually("v1", "Secret", "s", lambda found: found is None, namespace="default")


async def test_a_deleted_secret_leaves_its_accounts_list(cluster, key_file):
    await cluster.start(build, service_account_private_key_file=key_file)
    await cluster.make("v1", "ServiceAccount", "robot", namespace="default", secrets=[{"name": "s"}])
    made = await cluster.make(
        "v1", "Secret", "s", namespace="default", type=TYPE, metadata={"annotations": {NAME: "robot"}}
    )
    await cluster.eventually("v1", "Secret", "s", lambda found: found.get("data"), namespace="default")
    await cluster.client.delete_object(made)
    await cluster.eventually(
        "v1", "ServiceAccount", "robot", lambda found: not found.get("secrets"), namespace="default"
    )


def test_without_a_key_there_is_nothing_to_do():
    context = type("Context", (), {"options": type("Options", (), {"service_account_private_key_file": ""})})
    assert build(context) is None
