"""Legacy service account tokens in Secrets."""

import base64
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from steersman.apiserver.authn.audit_context import set_current_request
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.keys import PrivateKey
from steersman.apiserver.authn.legacy_token import LegacyTokens, last_used_patch
from steersman.apiserver.authn.service_account import BoundObject, TokenMetrics
from steersman.apiserver.http import Request
from steersman.apiserver.request import Annotations

from .test_service_account import Objects, Ring

CLAIMS = {
    "iss": "kubernetes/serviceaccount",
    "sub": "system:serviceaccount:ns:robot",
    "kubernetes.io/serviceaccount/namespace": "ns",
    "kubernetes.io/serviceaccount/secret.name": "s",
    "kubernetes.io/serviceaccount/service-account.name": "robot",
    "kubernetes.io/serviceaccount/service-account.uid": "u1",
}


class World:
    def __init__(self):
        self.ring, self.objects = Ring(), Objects()
        self.token = self.ring.key.sign(CLAIMS)
        self.stored = {"metadata": {}, "data": {"token": base64.b64encode(self.token.encode()).decode()}}
        self.used: list[dict] = []
        self.metrics = TokenMetrics()
        self.tokens = LegacyTokens(
            self.ring, self.objects, self, audiences=("api",), on_use=self.used.append, metrics=self.metrics
        )

    async def secret(self, namespace, name):
        return self.stored if (namespace, name) == ("ns", "s") else None


@pytest.fixture
def world():
    return World()


async def test_authenticate_token_returns_service_account(world):
    user = await world.tokens.authenticate_token(world.token)
    assert (user.name, user.uid, user.extra) == ("system:serviceaccount:ns:robot", "u1", {})
    assert (await world.tokens.review(world.token, ("api",))).user.name == user.name
    with pytest.raises(InvalidCredentials) as raised:
        await world.tokens.review(world.token, ("other",))
    assert str(raised.value) == 'token audiences ["api"] is invalid for the target audiences ["other"]'


async def test_authenticate_token_returns_none_for_other_issuers(world):
    for text in ("opaque", "a.b.c", world.ring.key.sign({**CLAIMS, "iss": "other"})):
        assert await world.tokens.authenticate_token(text) is None


INVALIDATED = (
    "the token in secret ns/s for service account ns/robot has been marked invalid. Use tokens from the TokenRequest API "
    "or manually created secret-based tokens, or remove the 'kubernetes.io/legacy-token-invalid-since' label from the "
    "secret to temporarily allow use of this token"
)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda w: setattr(w, "stored", None), "Token has been invalidated"),
        (
            lambda w: w.stored["metadata"].update(deletionTimestamp="2030-01-01T00:00:00Z"),
            "Token has been invalidated",
        ),
        (
            lambda w: w.stored["metadata"].update(labels={"kubernetes.io/legacy-token-invalid-since": "2030-01-01"}),
            INVALIDATED,
        ),
        (lambda w: w.stored.update(data={"token": "YWJj"}), "Token does not match server's copy"),
        (lambda w: w.stored.update(data=None), "Token does not match server's copy"),
        (lambda w: w.objects.stored.clear(), 'serviceaccounts "robot" not found'),
        (
            lambda w: w.objects.stored.update({("ServiceAccount", "ns", "robot"): BoundObject("u2")}),
            "ServiceAccount UID (u2) does not match claim (u1)",
        ),
        (
            lambda w: w.objects.stored.update({("ServiceAccount", "ns", "robot"): BoundObject("u1", 1.0)}),
            "ServiceAccount ns/robot has been deleted",
        ),
        (lambda w: setattr(w.ring, "key", PrivateKey(ec.generate_private_key(ec.SECP256R1()))), "invalid signature"),
    ],
)
async def test_authenticate_token_raises_without_secret_or_account(world, change, text):
    change(world)
    with pytest.raises(InvalidCredentials) as raised:
        await world.tokens.authenticate_token(world.token)
    assert str(raised.value) == text


@pytest.mark.parametrize("name", [name for name in CLAIMS if name != "iss"])
async def test_authenticate_token_requires_all_claims(world, name):
    claims = {key: value for key, value in CLAIMS.items() if key != name}
    with pytest.raises(
        InvalidCredentials, match=r"^(sub|namespace|secretName|serviceAccountName|serviceAccountUID) claim is"
    ):
        await world.tokens.authenticate_token(world.ring.key.sign(claims))


@pytest.fixture
def request_served():
    request = Request({"method": "GET", "path": "/", "query_string": b"", "headers": []}, receive=None)
    request.annotations = Annotations()
    return request


async def test_authenticate_token_reports_use_and_annotates(world, request_served):
    set_current_request(request_served)
    await world.tokens.authenticate_token(world.token)
    assert world.used == [world.stored]
    assert request_served.annotations.values == {
        "authentication.k8s.io/legacy-token": "system:serviceaccount:ns:robot",
        "authentication.k8s.io/legacy-token-manual-secret": "s",
    }
    assert (world.metrics.legacy, world.metrics.legacy_manual, world.metrics.legacy_auto) == (1, 1, 0)
    assert request_served.warnings.texts == []


async def test_authenticate_token_warns_about_autogenerated_token(world, request_served):
    world.objects.stored["ServiceAccount", "ns", "robot"] = BoundObject("u1", secrets=("s",))
    set_current_request(request_served)
    await world.tokens.authenticate_token(world.token)
    assert request_served.annotations.values == {
        "authentication.k8s.io/legacy-token": "system:serviceaccount:ns:robot",
        "authentication.k8s.io/legacy-token-autogenerated-secret": "s",
    }
    assert (world.metrics.legacy_manual, world.metrics.legacy_auto) == (0, 1)
    assert request_served.warnings.texts[0].startswith("Use tokens from the TokenRequest API")


async def test_authenticate_token_annotates_use_of_invalidated_token(world, request_served):
    world.stored["metadata"]["labels"] = {"kubernetes.io/legacy-token-invalid-since": "2030-01-01"}
    set_current_request(request_served)
    with pytest.raises(InvalidCredentials):
        await world.tokens.authenticate_token(world.token)
    assert request_served.annotations.values == {
        "authentication.k8s.io/legacy-token": "system:serviceaccount:ns:robot",
        "authentication.k8s.io/legacy-token-invalidated": "s/ns",
    }
    assert len(world.used) == 1
    assert (world.metrics.invalid_legacy_auto, world.metrics.legacy_manual) == (1, 0)


@pytest.mark.parametrize(
    ("labels", "is_noted"),
    [
        (None, False),
        ({"kubernetes.io/legacy-token-last-used": "2026-01-30"}, False),
        ({"kubernetes.io/legacy-token-last-used": "2026-01-31"}, True),
        ({"kubernetes.io/legacy-token-last-used": "2026-02-01"}, True),
    ],
)
def test_last_used_patch_changes_once_a_day(labels, is_noted):
    secret = {"metadata": {"uid": "u", "labels": labels}}
    patch = {"metadata": {"uid": "u", "labels": {"kubernetes.io/legacy-token-last-used": "2026-01-31"}}}
    assert last_used_patch(secret, datetime(2026, 1, 31, 12, tzinfo=UTC)) == (None if is_noted else patch)
