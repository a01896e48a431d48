import msgspec
import pytest
from lightkube.models.core_v1 import Namespace

from steersman.controllers.serviceaccount.controller import build
from steersman.controllers.serviceaccount.plan import missing_accounts


def namespace(phase):
    return msgspec.convert({"metadata": {"name": "n"}, "status": {"phase": phase}}, Namespace)


def test_missing_accounts_of_an_active_namespace():
    assert [account.metadata.name for account in missing_accounts(namespace("Active"), set())] == ["default"]


@pytest.mark.parametrize(
    ("obj", "present"), [(namespace("Terminating"), ()), (None, ()), (namespace("Active"), {"default"})]
)
def test_missing_accounts_is_empty_when_present_or_terminating(obj, present):
    assert missing_accounts(obj, present) == []


async def test_deleted_account_is_recreated(cluster):
    await cluster.start(build)
    await cluster.make("v1", "Namespace", "n")
    first = await cluster.eventually("v1", "ServiceAccount", "default", bool, namespace="n")
    await cluster.client.delete_object(first)
    uid = first["metadata"]["uid"]
    await cluster.eventually(
        "v1", "ServiceAccount", "default", lambda obj: obj and obj["metadata"]["uid"] != uid, namespace="n"
    )
