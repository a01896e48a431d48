"""Tokens that a webhook reviews."""

import json

import pytest

from steersman.apiserver.authn.interface import InvalidCredentials, Reviewed
from steersman.apiserver.authn.webhook_token import ReviewError, WebhookTokens
from steersman.apiserver.request import UserInfo

ALICE = {"username": "alice", "uid": "1", "groups": ["devs"], "extra": {"scopes": ["a", "b"]}}


class Webhook:
    def __init__(self, answer, version="v1"):
        self.answer, self.bodies = answer, []
        self.tokens = WebhookTokens(self.post, version=version, audiences=("api",))

    async def post(self, body):
        self.bodies.append(json.loads(body))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()


def status(**fields):
    return {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "status": fields}


async def review(answer, *audiences, version="v1"):
    return await Webhook(answer, version).tokens.review("t", audiences or ("api",))


async def refusal(answer, *audiences):
    with pytest.raises(InvalidCredentials) as refused:
        await review(answer, *audiences)
    return str(refused.value)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_review_posts_the_token_and_its_audiences(version):
    webhook = Webhook({"status": {"authenticated": True, "user": ALICE}}, version)
    user = UserInfo("alice", ("devs",), "1", {"scopes": ("a", "b")})
    assert await webhook.tokens.review("t", ("api", "other")) == Reviewed(user, ("api",))
    assert webhook.bodies == [
        {
            "kind": "TokenReview",
            "apiVersion": f"authentication.k8s.io/{version}",
            "metadata": {},
            "spec": {"token": "t", "audiences": ["api", "other"]},
            "status": {"user": {}},
        }
    ]


@pytest.mark.parametrize(
    ("confirmed", "audiences", "expected"),
    [
        (["other", "api"], ("api", "other", "more"), ("other", "api")),
        (["other"], ("api",), None),
        ([], ("api",), ("api",)),
        (None, ("api",), ("api",)),
        ([], ("other",), None),
    ],
)
async def test_audiences_are_those_that_the_webhook_confirms_or_this_servers(confirmed, audiences, expected):
    reviewed = await review(status(authenticated=True, user=ALICE, audiences=confirmed), *audiences)
    assert (None if reviewed is None else reviewed.audiences) == expected


@pytest.mark.parametrize(
    "fields", [{}, {"authenticated": False}, {"user": ALICE}, {"authenticated": None, "error": ""}]
)
async def test_rejected_token_has_no_user(fields):
    assert await review(status(**fields)) is None
    assert await review({"kind": "TokenReview"}) is None


async def test_error_of_the_webhook_rejects_the_token():
    assert await refusal(status(error="revoked")) == "revoked"
    assert await review(status(error="revoked", audiences=["x"])) is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ReviewError("unreachable"), "unreachable"),
        (b"<html>", "couldn't get version/kind; json parse error: "),
        (b"\xff", "couldn't get version/kind; json parse error: "),
        (b"[" * 100_000, "couldn't get version/kind; json parse error: "),
        ([], "json: cannot unmarshal array into Go value of type struct { APIVersion string; Kind string }"),
        (
            {**status(authenticated=True, user=ALICE), "kind": "Status"},
            'no kind "Status" is registered for version "authentication.k8s.io/v1"',
        ),
        (
            {**status(authenticated=True, user=ALICE), "apiVersion": "authentication.k8s.io/v1beta1"},
            "converting (v1beta1.TokenReview) to (v1.TokenReview): unknown conversion",
        ),
        ({"status": True}, "field status has the wrong type"),
        (status(authenticated="true", user=ALICE), "field authenticated has the wrong type"),
        (status(authenticated=1, user=ALICE), "field authenticated has the wrong type"),
        (status(authenticated=True, user="alice"), "field user has the wrong type"),
        (status(authenticated=True, user={"username": 1}), "field username has the wrong type"),
        (status(authenticated=True, user={"username": "a", "groups": "b"}), "field groups has the wrong type"),
        (status(authenticated=True, user={"username": "a", "groups": [1]}), "field groups has the wrong type"),
        (status(authenticated=True, user={"username": "a", "extra": []}), "field extra has the wrong type"),
        (status(authenticated=True, user={"username": "a", "extra": {"k": "v"}}), "field k has the wrong type"),
        (status(authenticated=True, user=ALICE, audiences="api"), "field audiences has the wrong type"),
        (status(authenticated=False, error=7), "field error has the wrong type"),
        (status(authenticated=True), "the answer names no user"),
        (status(authenticated=True, user={"groups": ["system:masters"]}), "the answer names no user"),
    ],
)
async def test_unusable_answers_reject_the_token(answer, message, caplog):
    assert message in await refusal(answer)
    assert "Failed to make webhook authenticator request" in caplog.text
