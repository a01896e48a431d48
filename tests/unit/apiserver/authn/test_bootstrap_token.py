"""Bootstrap tokens."""

import base64
from datetime import UTC, datetime

import pytest

from steersman.apiserver.authn.bootstrap_token import BootstrapTokens
from steersman.asynckit.clock import FakeClock

TOKEN = "abcdef.0123456789abcdef"


def secret(type_="bootstrap.kubernetes.io/token", deleted=None, **data):
    values = {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        **data,
    }
    return {
        "type": type_,
        "metadata": {"deletionTimestamp": deleted},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in values.items()},
    }


class Secrets:
    def __init__(self, tree):
        self.tree = tree

    async def secret(self, namespace, name):
        return self.tree if (namespace, name) == ("kube-system", "bootstrap-token-abcdef") else None


def tokens(tree=None):
    clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
    return BootstrapTokens(Secrets(secret() if tree is None else tree), audiences=("api",), clock=clock)


async def test_authenticate_token_returns_user_and_groups():
    user = await tokens().authenticate_token(TOKEN)
    assert (user.name, user.groups) == ("system:bootstrap:abcdef", ("system:bootstrappers",))
    extra = secret(**{"auth-extra-groups": "system:bootstrappers:b,system:bootstrappers:a"})
    user = await tokens(extra).authenticate_token(TOKEN)
    assert user.groups == ("system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b")


@pytest.mark.parametrize(
    "tree",
    [
        secret(type_="Opaque"),
        secret(deleted="2030-01-01T00:00:00Z"),
        secret(**{"token-secret": "aaaaaaaaaaaaaaaa"}),
        secret(**{"token-id": "bbbbbb"}),
        secret(**{"usage-bootstrap-authentication": "yes"}),
        secret(expiration="2029-12-31T23:59:59Z"),
        secret(expiration="tomorrow"),
        secret(expiration="2030-01-02T00:00:00"),
        secret(**{"auth-extra-groups": "system:masters"}),
        {**secret(), "data": {"token-secret": "%%%"}},
        {**secret(), "data": None},
    ],
)
async def test_authenticate_token_returns_none_for_unusable_secret(tree):
    assert await tokens(tree).authenticate_token(TOKEN) is None


@pytest.mark.parametrize("token", ["", "abcdef", "abcdef.0123", "ABCDEF.0123456789abcdef", "zzzzzz.0123456789abcdef"])
async def test_authenticate_token_returns_none_for_other_tokens(token):
    assert await tokens().authenticate_token(token) is None


async def test_authenticate_token_returns_none_after_expiration():
    assert await tokens(secret(expiration="2030-01-01T00:00:01+00:00")).authenticate_token(TOKEN) is not None


async def test_review_returns_none_for_other_audiences():
    assert (await tokens().review(TOKEN, ("api", "x"))).audiences == ("api",)
    assert await tokens().review(TOKEN, ("x",)) is None
