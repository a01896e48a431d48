"""Delegated authentication and authorization of a component's clients, by TokenReview and SubjectAccessReview.

``DelegatedAccess`` guards an ``HttpServer``: it authenticates each request by client certificate or bearer token
(``TokenReview``), and authorizes ``get`` of the path (``SubjectAccessReview``). Results are cached for some
seconds. Requests without credentials are anonymous; access is denied if the cluster is unreachable.

Upstream: ``DelegatingAuthenticatorConfig`` and ``DelegatingAuthorizerConfig`` of ``k8s.io/apiserver``.
"""

from __future__ import annotations

import logging
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from lightkube.models.authentication_v1 import TokenReview, TokenReviewSpec
from lightkube.models.authorization_v1 import (
    NonResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.errors import Reason, StatusError, failure, unauthorized
from steersman.apimachinery.gotext import quote
from steersman.asynckit.timeouts import Timeout
from steersman.client.errors import ClientError
from steersman.runtime.http import Page
from steersman.runtime.serving_options import ALWAYS_ALLOWED_PATHS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prometheus_client import Counter, Histogram

    from steersman.asynckit.clock import Clock
    from steersman.client import Client
    from steersman.runtime.access_metrics import AccessMetrics
    from steersman.runtime.http import Request

_log = logging.getLogger(__name__)

_ANONYMOUS: Final = "system:anonymous"
_AUTHENTICATED: Final = "system:authenticated"
_UNAUTHENTICATED: Final = "system:unauthenticated"
#: Group that needs no review (upstream: ``AlwaysAllowGroups``).
_MASTERS: Final = "system:masters"
#: Upstream's ``ClientTimeout``.
_REVIEW_SECONDS: Final = 10.0
_JSON: Final = "application/json"


class User(NamedTuple):
    """Identity of a client."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class CacheTimes(NamedTuple):
    """Seconds for which results are cached."""

    token: float = 10.0
    allowed: float = 10.0
    denied: float = 10.0


class _Cached(NamedTuple):
    """Result of a review: the user of a token or None, or whether access is allowed with the reason."""

    expires: float
    result: Any


class DelegatedAccess:
    """Guard of an ``HttpServer``: returns None for an allowed request, otherwise the response (401, 403 or 500)."""

    def __init__(
        self,
        *,
        token_reviewer: Client | None,
        access_reviewer: Client | None,
        clock: Clock,
        metrics: AccessMetrics,
        always_allow_paths: Sequence[str] = ALWAYS_ALLOWED_PATHS,
        cache_times: CacheTimes | None = None,
    ) -> None:
        """Create the guard; without ``token_reviewer`` tokens are ignored.

        Without ``access_reviewer`` only the always-allowed paths are permitted. Raises ValueError for a path
        with a ``*`` that is not its last character.
        """
        self._token_reviewer = token_reviewer
        self._access_reviewer = access_reviewer
        self._clock = clock
        self._metrics = metrics
        self._is_always_allowed = PathMatcher(always_allow_paths)
        self._times = cache_times or CacheTimes()
        self._users: BoundedCache[_Cached] = BoundedCache()
        self._verdicts: BoundedCache[_Cached] = BoundedCache()

    async def __call__(self, request: Request) -> Page | None:
        """Authenticate and authorize the request."""
        started = self._clock.monotonic()
        user = await self._authenticate(request)
        result = "failure" if user is None else "success"
        self._metrics.authentications.inc(result)
        self._metrics.authentication_seconds.labels(result).observe(self._clock.monotonic() - started)
        if user is None:
            return _status_page(unauthorized("Unauthorized"))
        self._metrics.users.inc("email_id" if "@" in user.name else "other")
        started = self._clock.monotonic()
        try:
            is_allowed, reason = await self._authorize(user, request)
        except (ClientError, StatusError, TimeoutError) as error:
            _log.error("the access of %s to %s cannot be reviewed: %s", user.name, request.path, error)
            self._authorized("error", started)
            return Page(500, f"Internal Server Error: {quote(request.path)}\n".encode())
        self._authorized("allowed" if is_allowed else "denied", started)
        return None if is_allowed else _forbidden(user, request, reason)

    def _authorized(self, result: str, started: float) -> None:
        self._metrics.authorizations.labels(result).inc()
        self._metrics.authorization_seconds.labels(result).observe(self._clock.monotonic() - started)

    # Authentication

    async def _authenticate(self, request: Request) -> User | None:
        """Return the user, ``system:anonymous`` without credentials, None for invalid credentials."""
        if request.client_certificate is not None:
            user = _certificate_user(request.client_certificate)
            if user is not None:
                return user
        token = _bearer_token(request.headers.get("authorization", ""))
        if not token or self._token_reviewer is None:
            if request.is_certificate_invalid:
                return None
            return User(_ANONYMOUS, (_UNAUTHENTICATED,))
        key = sha256(token.encode("latin-1")).digest()
        cached = self._users.get(key)
        if cached is not None and cached.expires > self._clock.monotonic():
            self._metrics.token_cache.labels("hit").inc()
            hit: User | None = cached.result
            return hit
        self._metrics.token_cache.labels("miss").inc()
        try:
            review = await self._review(
                self._token_reviewer,
                TokenReview(spec=TokenReviewSpec(token=token)),
                self._metrics.token_reviews,
                self._metrics.token_review_seconds,
            )
        except (ClientError, StatusError, TimeoutError) as error:
            _log.error("a token cannot be reviewed: %s", error)
            return None
        user = _token_user(review)
        self._users.put(key, _Cached(self._clock.monotonic() + self._times.token, user))
        return user

    # Authorization

    async def _authorize(self, user: User, request: Request) -> tuple[bool, str]:
        """Return the decision and the reason of the reviewer."""
        if self._is_always_allowed(request.path) or _MASTERS in user.groups:
            return True, ""
        if self._access_reviewer is None:
            return False, ""
        verb = request.method.lower()
        key = (user, verb, request.path)
        cached = self._verdicts.get(key)
        if cached is not None and cached.expires > self._clock.monotonic():
            hit: tuple[bool, str] = cached.result
            return hit
        spec = SubjectAccessReviewSpec(
            user=user.name,
            uid=user.uid or None,
            groups=list(user.groups),
            extra={name: list(values) for name, values in user.extra} or None,
            nonResourceAttributes=NonResourceAttributes(path=request.path, verb=verb),
        )
        review = await self._review(
            self._access_reviewer,
            SubjectAccessReview(spec=spec),
            self._metrics.access_reviews,
            self._metrics.access_review_seconds,
        )
        status = review.status
        verdict = (status is not None and status.allowed, (status.reason if status is not None else "") or "")
        seconds = self._times.allowed if verdict[0] else self._times.denied
        self._verdicts.put(key, _Cached(self._clock.monotonic() + seconds, verdict))
        return verdict

    async def _review(self, client: Client, review: Any, count: Counter, seconds: Histogram) -> Any:
        """Create a review and return it with its status. Raises ClientError, TimeoutError."""
        started = self._clock.monotonic()
        code = "<error>"
        try:
            async with Timeout(_REVIEW_SECONDS, clock=self._clock):
                reviewed = await client.create(review)
            code = "201"
        except StatusError as error:
            code = str(error.code)
            raise
        finally:
            count.labels(code).inc()
            seconds.labels(code).observe(self._clock.monotonic() - started)
        return reviewed


class PathMatcher:
    """Predicate for paths: exact ones, and prefixes that end with ``*``. Upstream: ``authorization/path``."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Raise ValueError for a ``*`` that is not the last character."""
        for path in paths:
            if "*" in path[:-1]:
                raise ValueError(f"only trailing * allowed in {quote(path)}")
        stripped = [path.removeprefix("/") for path in paths]
        self._prefixes = tuple(path[:-1] for path in stripped if path.endswith("*"))
        self._paths = frozenset(path for path in stripped if not path.endswith("*"))

    def __call__(self, path: str) -> bool:
        """Report whether the path matches."""
        path = path.removeprefix("/")
        return path in self._paths or path.startswith(self._prefixes)


def _bearer_token(header: str) -> str:
    """Return the token of an ``Authorization`` header; empty for other schemes."""
    scheme, _, token = header.strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _certificate_user(certificate: Mapping[str, Any]) -> User | None:
    """Return the user of a client certificate: common name and organizations; None without a common name."""
    attributes = [attribute for rdn in certificate.get("subject", ()) for attribute in rdn]
    name = next((value for kind, value in reversed(attributes) if kind == "commonName"), "")
    groups = (value for kind, value in attributes if kind == "organizationName")
    return User(name, (*groups, _AUTHENTICATED)) if name else None


def _token_user(review: TokenReview) -> User | None:
    """Return the user of a reviewed token; None for an invalid token."""
    status = review.status
    if status is None or not status.authenticated or status.user is None:
        return None
    user = status.user
    groups = dict.fromkeys([*(user.groups or ()), _AUTHENTICATED])
    extra = tuple((name, tuple(values)) for name, values in sorted((user.extra or {}).items()))
    return User(user.username or "", tuple(groups), user.uid or "", extra)


def _forbidden(user: User, request: Request, reason: str) -> Page:
    message = f"forbidden: User {quote(user.name)} cannot {request.method.lower()} path {quote(request.path)}"
    return _status_page(failure(403, Reason.FORBIDDEN, f"{message}: {reason}" if reason else message, details={}))


def _status_page(error: StatusError) -> Page:
    return Page(error.code, msgspec.json.encode(error.status) + b"\n", _JSON)
