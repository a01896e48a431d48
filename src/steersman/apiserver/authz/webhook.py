"""Authorization mode ``Webhook``: another server decides by SubjectAccessReviews.

Answers are cached by the spec of the review. A webhook that fails has no opinion, or denies the request, by its failure
policy; either way the error is part of the decision, and a request that no other authorizer allows is answered with 500.

Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from steersman.apimachinery.bounded_cache import BoundedCache
from steersman.apimachinery.workmeter import Allowance, WorkLimitError, metered
from steersman.apiserver.authz.access_review import encode_spec, read_status, review_body, review_spec
from steersman.apiserver.authz.interface import NO_OPINION, Decision, Rules, Verdict
from steersman.apiserver.authz.pending import PendingDecisionError, keep_decision, known_decision
from steersman.apiserver.workers import LOOP_ALLOWANCE, in_worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apiserver.authz.access_review import ReviewSpec, ReviewStatus
    from steersman.apiserver.authz.match_conditions import MatchConditions
    from steersman.apiserver.authz.webhook_metrics import AuthorizationWebhookMetrics
    from steersman.apiserver.request import RequestInfo, UserInfo
    from steersman.asynckit.clock import Clock

_log: Final = logging.getLogger(__name__)

_ENTRIES_MAX: Final = 8192
_CACHE_BYTES: Final = 32 * 1024 * 1024
#: Requests whose attributes are longer are not cached: the caller chooses them.
_ATTRIBUTES_LENGTH_MAX: Final = 10_000
_NO_RULES: Final = Rules(incomplete=True, error="webhook authorizer does not support user rule resolution")


class ReviewCallError(Exception):
    """A webhook gave no valid answer."""

    def __init__(self, message: str, *, result: str = "error") -> None:
        """``result``: label of metrics, ``error`` or ``timeout``."""
        super().__init__(message)
        self.result: Final = result


class ReviewCall(Protocol):
    """Client of a webhook: posts a review and reads the answer."""

    async def __call__(self, body: bytes, read: Callable[[bytes], ReviewStatus]) -> ReviewStatus:
        """Return what ``read`` returns. Raises ``ReviewCallError``, also if ``read`` raises ``ReviewDecodeError``."""


class _CachedDecision:
    """Decision and the time of its expiration."""

    __slots__ = ("decision", "expires")

    def __init__(self, decision: Decision, expires: float) -> None:
        self.decision: Final = decision
        self.expires: Final = expires


class WebhookAuthorizer:
    """``Authorizer`` and ``RuleResolver`` of one webhook."""

    def __init__(
        self,
        name: str,
        call: ReviewCall,
        *,
        version: str,
        authorized_seconds: float,
        unauthorized_seconds: float,
        denies_on_error: bool,
        conditions: MatchConditions | None,
        metrics: AuthorizationWebhookMetrics,
        clock: Clock,
    ) -> None:
        """``version``: of reviews. ``authorized_seconds``, ``unauthorized_seconds``: time in the cache; 0: never."""
        self.name: Final = name
        self._call: Final = call
        self._version: Final = version
        self._authorized_seconds: Final = authorized_seconds
        self._unauthorized_seconds: Final = unauthorized_seconds
        self._denies_on_error: Final = denies_on_error
        self._conditions: Final = conditions
        self._metrics: Final = metrics
        self._clock: Final = clock
        self._cache: Final[BoundedCache[_CachedDecision]] = BoundedCache(
            entries_max=_ENTRIES_MAX, bytes_max=_CACHE_BYTES, name="authorization webhooks"
        )

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Return the webhook's decision. Raises ``PendingDecisionError`` unless it is known."""
        spec = review_spec(user, info)
        encoded = encode_spec(spec, version=self._version)
        key = (id(self), encoded)
        decision = known_decision(key)
        if decision is not None:
            return decision
        is_cacheable = _is_cacheable(info)
        if self._conditions is not None:
            try:
                with metered(Allowance(LOOP_ALLOWANCE)):
                    outcome = self._evaluate(self._conditions, spec)
            except WorkLimitError:
                decide = partial(self._decide, self._conditions, spec, encoded, is_cacheable)
                raise PendingDecisionError(key, decide) from None
            excluded = self._excluded(outcome)
            if excluded is not None:
                keep_decision(key, excluded)
                return excluded
        cached = self._cached(encoded)
        if cached is not None:
            keep_decision(key, cached)
            return cached
        raise PendingDecisionError(key, partial(self._review, encoded, is_cacheable))

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return no rules, as an incomplete list."""
        del user, namespace
        return _NO_RULES

    def _evaluate(self, conditions: MatchConditions, spec: ReviewSpec) -> tuple[bool, str, float]:
        """Return whether the match conditions hold, their error, and the time of the evaluation."""
        started = self._clock.monotonic()
        holds, error = conditions.evaluate(spec)
        return holds, error, self._clock.monotonic() - started

    def _excluded(self, outcome: tuple[bool, str, float]) -> Decision | None:
        """Return the decision if the outcome of the match conditions is that the webhook is not asked."""
        holds, error, seconds = outcome
        is_excluded = not holds and not error
        self._metrics.observe_conditions(self.name, seconds, is_excluded=is_excluded, has_error=bool(error))
        if error:
            return self._failed(error)
        return NO_OPINION if is_excluded else None

    def _cached(self, encoded: bytes) -> Decision | None:
        cached = self._cache.get(encoded)
        return cached.decision if cached is not None and cached.expires > self._clock.monotonic() else None

    def _failed(self, error: str) -> Decision:
        return Decision(Verdict.DENY if self._denies_on_error else Verdict.NO_OPINION, error=error)

    async def _decide(
        self,
        conditions: MatchConditions,
        spec: ReviewSpec,
        encoded: bytes,
        is_cacheable: bool,  # noqa: FBT001 — of a partial
    ) -> Decision:
        """Evaluate expensive match conditions in a worker, then ask the webhook."""
        excluded = self._excluded(await in_worker(self._evaluate, conditions, spec))
        if excluded is not None:
            return excluded
        return self._cached(encoded) or await self._review(encoded, is_cacheable)

    async def _review(self, encoded: bytes, is_cacheable: bool) -> Decision:  # noqa: FBT001 — of a partial
        """Ask the webhook."""
        body = review_body(encoded, version=self._version)
        try:
            status = await self._call(body, partial(read_status, version=self._version))
        except ReviewCallError as error:
            _log.error("Failed to make webhook authorizer request: %s", error)
            if not self._denies_on_error:
                self._metrics.observe_fail_open(self.name, error.result)
            return self._failed(str(error))
        decision = _decision_of(status)
        seconds = self._authorized_seconds if status.allowed else self._unauthorized_seconds
        if is_cacheable and seconds > 0:
            expires = self._clock.monotonic() + seconds
            self._cache.put(encoded, _CachedDecision(decision, expires), len(encoded) + len(decision.reason))
        return decision


def _decision_of(status: ReviewStatus) -> Decision:
    reason = status.reason or ""
    if status.denied:
        error = "webhook subject access review returned both allow and deny response" if status.allowed else ""
        return Decision(Verdict.DENY, reason, error)
    return Decision(Verdict.ALLOW if status.allowed else Verdict.NO_OPINION, reason)


def _is_cacheable(info: RequestInfo) -> bool:
    attributes = (
        info.namespace,
        info.verb,
        info.group,
        info.version,
        info.resource,
        info.subresource,
        info.name,
        info.path,
    )
    return sum(map(len, attributes)) < _ATTRIBUTES_LENGTH_MAX
