"""Bound service account tokens signed with the server's keys. Upstream: ``pkg/serviceaccount/jwt.go``.

A signature is verified once. Each request checks that the token has not expired and that its ServiceAccount and bound
objects exist; within a few seconds after a full check, it suffices that none of these objects was written
(``verified``).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from steersman.apiserver.authn import jws
from steersman.apiserver.authn.account_claims import AccountClaims, Ref, read_claims
from steersman.apiserver.authn.audit_context import annotate
from steersman.apiserver.authn.interface import (
    InvalidCredentials,
    Reviewed,
    StoredState,
    VerifiedUser,
    with_authenticated_group,
)
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from steersman.asynckit.clock import Clock

#: Clock skew, and the time for which tokens bound to an object remain valid after its deletion timestamp.
_LEEWAY_SECONDS: Final = 60.0
#: Maximum number of cached verified tokens; the cache is cleared when full.
_VERIFIED_MAX: Final = 4096
#: Seconds after a full check for which the token is only checked for written objects. Upstream's token cache
#: (``TokenSuccessCacheTTL``) trusts a token for that time whatever happens to its objects.
_TRUSTED_SECONDS: Final = 10.0
_EXTRA: Final = "authentication.kubernetes.io/"


class BoundObject(msgspec.Struct, frozen=True):
    """Current state of an object that a token is bound to."""

    uid: str
    #: Deletion time in seconds since 1970; None if not being deleted.
    deleted_seconds: float | None = None
    #: Names of a ServiceAccount's ``secrets``.
    secrets: tuple[str, ...] = ()


class BoundObjects(Protocol):
    """Lookup of objects that tokens are bound to."""

    async def find(self, kind: str, name: str, *, namespace: str) -> BoundObject | None:
        """Return an object by kind (``ServiceAccount``, ``Pod``, ``Secret``, ``Node``); None if it does not exist."""

    def state(self, kind: str, name: str, *, namespace: str) -> tuple[BoundObject, StoredState] | None:
        """Return the object and its state without waiting; None if it does not exist or is unknown."""


class KeyRing(Protocol):
    """Source of the public keys of signed tokens."""

    async def verifying(self, kid: str = "") -> Mapping[str, jws.VerifyingKey]:
        """Return all public keys by key ID. ``kid``: ID of a token's key, which may be a new one."""


class _Verified(msgspec.Struct, frozen=True):
    claims: AccountClaims
    user: UserInfo


class TokenMetrics:
    """Numbers of tokens that were checked in full; uses of a cached result are not counted.

    Upstream: ``pkg/serviceaccount/metrics.go``.
    """

    __slots__ = ("invalid_legacy_auto", "legacy", "legacy_auto", "legacy_manual", "stale", "valid")

    def __init__(self) -> None:
        #: Tokens of Pods, before and after the time by which they should have been renewed.
        self.valid = 0
        self.stale = 0
        #: Tokens without audiences.
        self.legacy = 0
        #: Those from Secrets: generated for the ServiceAccount, created by users, and invalidated ones.
        self.legacy_auto = 0
        self.legacy_manual = 0
        self.invalid_legacy_auto = 0


class ServiceAccountTokens:
    """Token authenticator of bound service account tokens."""

    def __init__(
        self,
        keys: KeyRing,
        objects: BoundObjects,
        *,
        issuers: Sequence[str],
        audiences: Sequence[str],
        clock: Clock,
        metrics: TokenMetrics,
    ) -> None:
        """``audiences``: audiences of this server."""
        self._keys = keys
        self._objects = objects
        self._issuers = frozenset(issuers)
        self._audiences = tuple(audiences)
        self._clock = clock
        self._metrics = metrics
        #: By digest, so that tokens are not kept in memory.
        self._verified: dict[bytes, _Verified] = {}

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """Return the service account; None for tokens of other issuers. Raises ``InvalidCredentials``."""
        reviewed = await self.review(token, self._audiences)
        return None if reviewed is None else reviewed.user

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Review a token for one of these audiences."""
        if not jws.looks_signed(token):
            return None
        digest = _digest(token)
        verified = self._verified.get(digest)
        if verified is None:
            verified = await self._verify(token)
            if verified is None:
                return None
            if len(self._verified) >= _VERIFIED_MAX:
                self._verified.clear()
            self._verified[digest] = verified
        claims = verified.claims
        if not claims.audiences:
            annotate("authentication.k8s.io/legacy-token", claims.sub)
            self._metrics.legacy += 1
        common = common_audiences(claims.audiences or self._audiences, audiences)
        self._check_times(claims)
        await self._check_objects(claims)
        if claims.bound.warnafter is not None:
            self._note_age(claims, claims.bound.warnafter)
        return Reviewed(verified.user, common)

    def verified(self, token: str) -> VerifiedUser | None:
        """Return the user of a token that was just accepted, valid until an object it is bound to is written.

        None if the token must be checked in full each time: its objects are being deleted, or its use adds annotations.
        """
        verified = self._verified.get(_digest(token))
        if verified is None:
            return None
        claims = verified.claims
        if not claims.audiences:
            return None
        now = self._clock.now().timestamp()
        seconds = _TRUSTED_SECONDS
        if claims.exp is not None:
            seconds = min(seconds, claims.exp + _LEEWAY_SECONDS - now)
        if claims.bound.warnafter is not None:
            seconds = min(seconds, claims.bound.warnafter - now)
        states = []
        for kind, ref, namespace in _bound_objects(claims):
            state = self._objects.state(kind, ref.name, namespace=namespace)
            if state is None or state[0].uid != ref.uid or state[0].deleted_seconds is not None:
                return None
            states.append(state[1])
        user = with_authenticated_group(verified.user)
        return VerifiedUser(user, tuple(states), until=self._clock.monotonic() + seconds)

    async def _verify(self, text: str) -> _Verified | None:
        """Return the claims of a token with a valid signature; None for other issuers."""
        try:
            token = jws.read_unverified(text)
            if token.issuer not in self._issuers:
                return None
            read_claims(token.claims)
        except (jws.MalformedTokenError, msgspec.ValidationError, TypeError):
            return None
        keys = await self._keys.verifying(token.header.kid)
        named = keys.get(token.header.kid)
        candidates = [named] if named is not None else list(keys.values())
        verified = next((tree for key in candidates if (tree := key.verified_claims(text)) is not None), None)
        if verified is None:
            raise InvalidCredentials("invalid signature")
        claims = read_claims(verified)
        bound = claims.bound
        if not bound.namespace or not bound.serviceaccount.name:
            raise InvalidCredentials("the token names no service account")
        if claims.sub != f"system:serviceaccount:{bound.namespace}:{bound.serviceaccount.name}":
            raise InvalidCredentials("the token's subject is another than its service account")
        return _Verified(claims, _user(claims))

    def _check_times(self, claims: AccountClaims) -> None:
        now = self._clock.now().timestamp()
        if claims.exp is not None and now - _LEEWAY_SECONDS > claims.exp:
            raise InvalidCredentials("service account token has expired")
        if claims.nbf is not None and now + _LEEWAY_SECONDS < claims.nbf:
            raise InvalidCredentials("service account token is not valid yet")
        if claims.iat is not None and now + _LEEWAY_SECONDS < claims.iat:
            raise InvalidCredentials("service account token is issued in the future")

    def _note_age(self, claims: AccountClaims, warn_after: int) -> None:
        over = int(self._clock.now().timestamp() - warn_after)
        if over >= 0:
            text = f"subject: {claims.sub}, seconds after warning threshold: {over}"
            annotate("authentication.k8s.io/stale-token", text)
            self._metrics.stale += 1
        else:
            self._metrics.valid += 1

    async def _check_objects(self, claims: AccountClaims) -> None:
        for kind, ref, namespace in _bound_objects(claims):
            bound_object = await self._objects.find(kind, ref.name, namespace=namespace)
            deleted = bound_object.deleted_seconds if bound_object is not None else None
            is_deleted = deleted is not None and deleted < self._clock.now().timestamp() - _LEEWAY_SECONDS
            if kind == "ServiceAccount":
                fault = _account_fault(ref, namespace, bound_object, is_deleted=is_deleted)
            else:
                fault = _bound_object_fault(kind, ref, bound_object, is_deleted=is_deleted)
            if fault:
                raise InvalidCredentials(fault)


def _account_fault(ref: Ref, namespace: str, account: BoundObject | None, *, is_deleted: bool) -> str:
    """Return why the ServiceAccount of a token is not valid; empty if it is."""
    if account is None:
        return account_not_found(ref.name)
    if account.uid != ref.uid:
        return f"service account UID ({account.uid}) does not match claim ({ref.uid})"
    return f"service account {namespace}/{ref.name} has been deleted" if is_deleted else ""


def _bound_object_fault(kind: str, ref: Ref, bound_object: BoundObject | None, *, is_deleted: bool) -> str:
    """Return why the object that a token is bound to is not valid; empty if it is."""
    if bound_object is None:
        return "service account token has been invalidated"
    if bound_object.uid != ref.uid:
        name = kind.lower()
        return f"{name} UID ({bound_object.uid}) does not match service account {name} ref claim ({ref.uid})"
    return "service account token has been invalidated" if is_deleted else ""


def common_audiences(own: Sequence[str], target: Sequence[str]) -> tuple[str, ...]:
    """Return the audiences of a token that are among those of its use. Raises ``InvalidCredentials``."""
    common = tuple(audience for audience in own if audience in target)
    if not common:
        raise InvalidCredentials(
            f"token audiences {_listed(own)} is invalid for the target audiences {_listed(target)}"
        )
    return common


def account_not_found(name: str) -> str:
    """Return the error of a token whose ServiceAccount does not exist: that of the request for it, as upstream."""
    return f'serviceaccounts "{name}" not found'


def _bound_objects(claims: AccountClaims) -> Iterator[tuple[str, Ref, str]]:
    """Yield kind, reference and namespace of each object that must exist."""
    bound = claims.bound
    yield "ServiceAccount", bound.serviceaccount, bound.namespace
    if bound.secret is not None:
        yield "Secret", bound.secret, bound.namespace
    if bound.pod is not None:
        yield "Pod", bound.pod, bound.namespace
    elif bound.node is not None:  # of Pods, the node is informational
        yield "Node", bound.node, ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _user(claims: AccountClaims) -> UserInfo:
    bound = claims.bound
    extra: dict[str, tuple[str, ...]] = {}
    if claims.jti:
        extra[f"{_EXTRA}credential-id"] = (f"JTI={claims.jti}",)
    for kind, ref in (("pod", bound.pod), ("node", bound.node)):
        if ref is not None:
            extra[f"{_EXTRA}{kind}-name"] = (ref.name,)
            if ref.uid:
                extra[f"{_EXTRA}{kind}-uid"] = (ref.uid,)
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{bound.namespace}")
    return UserInfo(claims.sub, groups, bound.serviceaccount.uid, extra)


def _listed(words: Sequence[str]) -> str:
    return "[" + " ".join(f'"{word}"' for word in words) + "]"
