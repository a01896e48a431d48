"""Service account tokens and their expiry."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from steersman.apiserver.authn.account_claims import Bound, Ref
from steersman.apiserver.authn.audit_context import set_current_request
from steersman.apiserver.authn.interface import InvalidCredentials
from steersman.apiserver.authn.keys import PrivateKey
from steersman.apiserver.authn.service_account import BoundObject, ServiceAccountTokens, TokenMetrics
from steersman.apiserver.authn.token_issuer import TokenIssuer
from steersman.apiserver.http import Request
from steersman.apiserver.request import Annotations
from steersman.asynckit.clock import FakeClock

ROBOT = Bound("ns", Ref("robot", "u1"))
USER = "system:serviceaccount:ns:robot"
KEY = PrivateKey(ec.generate_private_key(ec.SECP256R1()))


class Ring:
    def __init__(self) -> None:
        self.key = KEY
        self.verification_count = 0

    async def sign(self, claims):
        return self.key.sign(claims)

    async def verifying(self, kid=""):
        self.verification_count += 1
        return {self.key.kid: self.key}


class Objects:
    """Objects by kind and name."""

    def __init__(self) -> None:
        self.stored = {("ServiceAccount", "ns", "robot"): BoundObject("u1")}

    async def find(self, kind, name, *, namespace):
        return self.stored.get((kind, namespace, name))

    def state(self, kind, name, *, namespace):
        key = (kind, namespace, name)
        response = self.stored.get(key)
        return None if response is None else (response, State(self, key, response))


class State:
    """State that is current while ``Objects`` holds the same value."""

    def __init__(self, objects, key, obj) -> None:
        self.objects, self.key, self.stored = objects, key, obj

    def is_current(self) -> bool:
        return self.objects.stored.get(self.key) is self.stored


class World:
    def __init__(self) -> None:
        self.clock = FakeClock(datetime(2030, 1, 1, tzinfo=UTC))
        self.ring, self.objects = Ring(), Objects()
        self.metrics = TokenMetrics()
        self.tokens = self.authenticator(self.clock, issuers=("iss", "old"))

    def authenticator(self, clock, *, issuers=("iss",)) -> ServiceAccountTokens:
        return ServiceAccountTokens(
            self.ring, self.objects, issuers=issuers, audiences=("api",), clock=clock, metrics=self.metrics
        )

    async def issue(self, bound=ROBOT, *, issuer="iss", audiences=("api",), life_seconds=600) -> str:
        token_issuer = TokenIssuer(self.ring, issuer=issuer, audiences=("api",), randomness=bytes)
        return await token_issuer.issue(bound, audiences=audiences, now=self.clock.now(), life_seconds=life_seconds)

    async def refusal(self, token: str, audiences=("api",)) -> str:
        with pytest.raises(InvalidCredentials) as refused:
            await self.tokens.review(token, audiences)
        return str(refused.value)


@pytest.fixture
def world():
    return World()


async def test_authenticate_token_returns_service_account_and_groups(world):
    user = await world.tokens.authenticate_token(await world.issue())
    assert (user.name, user.uid) == (USER, "u1")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns")
    assert user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=00000000-0000-4000-8000-000000000000",)}


async def test_signature_is_verified_once_and_user_object_reused(world):
    token = await world.issue()
    first = await world.tokens.authenticate_token(token)
    assert await world.tokens.authenticate_token(token) is first
    assert world.ring.verification_count == 1


async def test_older_issuers_are_accepted_and_others_skipped(world):
    assert await world.tokens.authenticate_token(await world.issue(issuer="old")) is not None
    assert await world.tokens.authenticate_token(await world.issue(issuer="other")) is None
    for text in ("opaque", "a.b.c"):
        assert await world.tokens.authenticate_token(text) is None


async def test_forged_token_raises(world):
    token = await world.issue()
    world.ring.key = PrivateKey(ec.generate_private_key(ec.SECP256R1()))
    assert await world.refusal(token) == "invalid signature"


async def test_expired_token_raises_after_clock_skew(world):
    token = await world.issue(life_seconds=600)
    await world.clock.advance(659)
    assert await world.tokens.authenticate_token(token) is not None
    await world.clock.advance(2)
    assert await world.refusal(token) == "service account token has expired"


async def test_token_not_yet_valid_raises(world):
    token = await world.issue()
    behind = FakeClock(world.clock.now() - timedelta(seconds=61))
    with pytest.raises(InvalidCredentials, match="not valid yet"):
        await world.authenticator(behind).authenticate_token(token)


async def test_review_checks_audiences(world):
    token = await world.issue(audiences=("vault", "backup"))
    assert await world.refusal(token) == (
        'token audiences ["vault" "backup"] is invalid for the target audiences ["api"]'
    )
    reviewed = await world.tokens.review(token, ("other", "backup"))
    assert reviewed.audiences == ("backup",)


INVALIDATED = "service account token has been invalidated"


@pytest.mark.parametrize(
    ("bound", "key", "deleted", "recreated"),
    [
        (
            ROBOT,
            ("ServiceAccount", "ns", "robot"),
            'serviceaccounts "robot" not found',
            "service account UID (u9) does not match claim (u1)",
        ),
        (
            Bound("ns", ROBOT.serviceaccount, pod=Ref("p", "u2")),
            ("Pod", "ns", "p"),
            INVALIDATED,
            "pod UID (u9) does not match service account pod ref claim (u2)",
        ),
        (
            Bound("ns", ROBOT.serviceaccount, secret=Ref("s", "u2")),
            ("Secret", "ns", "s"),
            INVALIDATED,
            "secret UID (u9) does not match service account secret ref claim (u2)",
        ),
        (
            Bound("ns", ROBOT.serviceaccount, node=Ref("n", "u2")),
            ("Node", "", "n"),
            INVALIDATED,
            "node UID (u9) does not match service account node ref claim (u2)",
        ),
    ],
    ids=["account", "pod", "secret", "node"],
)
async def test_token_raises_once_account_or_bound_object_is_deleted(world, bound, key, deleted, recreated):
    world.objects.stored.setdefault(key, BoundObject("u2"))
    token = await world.issue(bound)
    assert await world.tokens.authenticate_token(token) is not None
    for now, text in ((None, deleted), (BoundObject("u9"), recreated)):
        world.objects.stored[key] = now
        assert await world.refusal(token) == text


async def test_token_of_deleted_object_is_valid_for_a_minute(world):
    token = await world.issue()
    deleted = world.clock.now().timestamp()
    world.objects.stored["ServiceAccount", "ns", "robot"] = BoundObject("u1", deleted)
    await world.clock.advance(59)
    assert await world.tokens.authenticate_token(token) is not None
    await world.clock.advance(2)
    assert await world.refusal(token) == "service account ns/robot has been deleted"


async def test_token_of_deleted_pod_is_valid_for_a_minute(world):
    world.objects.stored["Pod", "ns", "p"] = BoundObject("u2", world.clock.now().timestamp())
    token = await world.issue(Bound("ns", ROBOT.serviceaccount, pod=Ref("p", "u2")))
    assert await world.tokens.authenticate_token(token) is not None
    await world.clock.advance(61)
    assert await world.refusal(token) == INVALIDATED


async def test_pod_and_node_are_in_extra_and_node_of_pod_need_not_exist(world):
    world.objects.stored["Pod", "ns", "p"] = BoundObject("u2")
    bound = Bound("ns", ROBOT.serviceaccount, pod=Ref("p", "u2"), node=Ref("n"))
    user = await world.tokens.authenticate_token(await world.issue(bound))
    extra = {key.removeprefix("authentication.kubernetes.io/"): value for key, value in user.extra.items()}
    del extra["credential-id"]
    assert extra == {"pod-name": ("p",), "pod-uid": ("u2",), "node-name": ("n",)}


@pytest.mark.parametrize(
    "claims",
    [
        {"kubernetes.io": {"namespace": "ns"}},
        {
            "sub": "system:serviceaccount:ns:other",
            "kubernetes.io": {"namespace": "ns", "serviceaccount": {"name": "a"}},
        },
    ],
)
async def test_subject_must_match_account_claims(world, claims):
    assert "service account" in await world.refusal(world.ring.key.sign({"iss": "iss", "aud": "api", **claims}))


async def test_token_without_audiences_is_annotated_at_each_use(world):
    account = {"namespace": "ns", "serviceaccount": {"name": "robot", "uid": "u1"}}
    token = world.ring.key.sign({"iss": "iss", "sub": USER, "kubernetes.io": account})
    request = Request({"method": "GET", "path": "/", "query_string": b"", "headers": []}, receive=None)
    request.annotations = Annotations()
    set_current_request(request)
    await world.tokens.authenticate_token(token)
    assert request.annotations.values == {"authentication.k8s.io/legacy-token": USER}
    assert world.tokens.verified(token) is None


async def test_stale_token_is_annotated(world):
    after = int(world.clock.now().timestamp()) + 100
    token = await world.issue(Bound("ns", Ref("robot", "u1"), warnafter=after))
    request = Request({"method": "GET", "path": "/", "query_string": b"", "headers": []}, receive=None)
    request.annotations = Annotations()
    set_current_request(request)
    await world.tokens.authenticate_token(token)
    assert request.annotations.values == {}
    await world.clock.advance(130)
    await world.tokens.authenticate_token(token)
    assert request.annotations.values == {
        "authentication.k8s.io/stale-token": f"subject: {USER}, seconds after warning threshold: 30"
    }
    assert (world.metrics.valid, world.metrics.stale) == (1, 1)


async def verified(world, token):
    """Return the user for which the token is cached now."""
    await world.tokens.authenticate_token(token)
    cached = world.tokens.verified(token)
    return cached, lambda: cached.at(world.clock.monotonic())


async def test_verified_expires_after_ten_seconds(world):
    _, user = await verified(world, await world.issue())
    assert user().groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    await world.clock.advance(9.9)
    assert user() is not None
    await world.clock.advance(0.1)
    assert user() is None


@pytest.mark.parametrize("key", [("ServiceAccount", "ns", "robot"), ("Pod", "ns", "p")])
@pytest.mark.parametrize("now", [None, BoundObject("u2")], ids=["deleted", "written"])
async def test_verified_ends_when_bound_object_is_deleted_or_written(world, key, now):
    world.objects.stored["Pod", "ns", "p"] = BoundObject("u2")
    _, user = await verified(world, await world.issue(Bound("ns", ROBOT.serviceaccount, pod=Ref("p", "u2"))))
    assert user() is not None
    world.objects.stored[key] = now
    assert user() is None


async def test_verified_does_not_outlive_token(world):
    token = await world.issue(life_seconds=600)
    await world.clock.advance(655)
    _, user = await verified(world, token)
    await world.clock.advance(5)
    assert user() is None


async def test_verified_ends_when_use_becomes_stale(world):
    after = int(world.clock.now().timestamp()) + 4
    _, user = await verified(world, await world.issue(Bound("ns", Ref("robot", "u1"), warnafter=after)))
    await world.clock.advance(3.9)
    assert user() is not None
    await world.clock.advance(0.1)
    assert user() is None


async def test_verified_is_none_while_account_is_deleted_or_unknown(world):
    token = await world.issue()
    assert world.tokens.verified(token) is None
    world.objects.stored["ServiceAccount", "ns", "robot"] = BoundObject("u1", world.clock.now().timestamp())
    assert await world.tokens.authenticate_token(token) is not None
    assert world.tokens.verified(token) is None
