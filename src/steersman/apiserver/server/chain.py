"""Handler chain: all filters in one list. Upstream: ``DefaultBuildHandlerChain``."""

from __future__ import annotations

from random import random
from typing import TYPE_CHECKING

import msgspec

from steersman.apiserver.filters.authentication import authentication
from steersman.apiserver.filters.authorization import authorization
from steersman.apiserver.filters.errors import errors
from steersman.apiserver.filters.impersonation import impersonation
from steersman.apiserver.filters.max_in_flight import max_in_flight
from steersman.apiserver.filters.priority_and_fairness import priority_and_fairness
from steersman.apiserver.filters.request_counts import count_requests
from steersman.apiserver.filters.request_deadline import request_deadline
from steersman.apiserver.filters.request_info import request_info
from steersman.apiserver.server.dispatching import dispatching

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apiserver.aggregation.controller import Aggregator
    from steersman.apiserver.authn.interface import ServerAuthenticator
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.filters.access_metrics import AccessMetrics
    from steersman.apiserver.filters.audit import Auditor
    from steersman.apiserver.filters.max_in_flight import InFlight
    from steersman.apiserver.filters.priority_and_fairness import PriorityAndFairness
    from steersman.apiserver.filters.request_metrics import RequestMetrics
    from steersman.apiserver.http import Filter, Handler
    from steersman.apiserver.server.routes import Routes


class ChainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the filters."""

    authenticator: ServerAuthenticator
    authorizer: Authorizer
    #: The authorizer may raise ``PendingDecisionError``, because it asks webhooks.
    authorizer_waits: bool = False
    metrics: RequestMetrics
    access_metrics: AccessMetrics
    in_flight: InFlight
    #: Audit; None if disabled.
    auditor: Auditor | None = None
    #: Priority and fairness; None: only the number of concurrent requests is limited.
    flow_control: PriorityAndFairness | None = None
    #: ``--max-requests-inflight`` and ``--max-mutating-requests-inflight``.
    reading_max: int = 400
    mutating_max: int = 200
    #: ``--request-timeout``, the upper limit of request deadlines.
    request_timeout_seconds: float = 60.0
    #: Reports whether new requests are rejected, during a shutdown; None: they never are.
    is_rejecting: Callable[[], bool] | None = None
    #: Offer CBOR beside JSON, YAML and protobuf (``CBORServingAndStorage``).
    offers_cbor: bool = False
    #: ``--goaway-chance``; 0 if HTTP/2 is not served. ``dice`` returns numbers from 0 to 1.
    goaway_chance: float = 0.0
    dice: Callable[[], float] = random
    #: Regular expressions of ``--cors-allowed-origins``.
    cors_allowed_origins: Sequence[str] = ()
    #: Filters of an embedding program, which see the impersonated user; the first is the outermost.
    extra: Sequence[Filter] = ()


def build_chain(
    options: ChainOptions, *, resources: Handler, routes: Routes, aggregator: Aggregator | None = None
) -> Handler:
    """Return the handler of all requests: the filters, outermost first, then ``aggregator``, ``resources`` or
    ``routes``.
    """
    outside_authentication, inside_authentication = (
        ((), ()) if options.auditor is None else _audit_filters(options.auditor)
    )
    filters: list[Filter] = [
        *_cbor(offers_cbor=options.offers_cbor),
        *_retry_after(options.is_rejecting),
        *_goaway(options.goaway_chance, options.dice),
        *_cors(options.cors_allowed_origins),
        errors(),
        request_info(with_labels=options.authorizer_waits),
        request_deadline(longest_seconds=options.request_timeout_seconds, timed_out=options.metrics.timed_out),
        *outside_authentication,
        authentication(options.authenticator, options.access_metrics),
        *inside_authentication,
        count_requests(options.metrics),
        impersonation(options.authorizer, waits=options.authorizer_waits),
        *options.extra,
        _limits(options),
        authorization(options.authorizer, options.access_metrics, waits=options.authorizer_waits),
    ]
    handler = dispatching(resources, routes, aggregator)
    for wrap in reversed(filters):
        handler = wrap(handler)
    return handler


def _cbor(*, offers_cbor: bool) -> Sequence[Filter]:
    """Return the filter that offers CBOR, if that is enabled."""
    if not offers_cbor:
        return []
    from steersman.apiserver.filters.cbor import offer_cbor  # noqa: PLC0415 — behind a feature gate

    return [offer_cbor]


def _retry_after(is_rejecting: Callable[[], bool] | None) -> Sequence[Filter]:
    """Return the filter that rejects requests during a shutdown, if that is enabled."""
    if is_rejecting is None:
        return []
    from steersman.apiserver.filters.retry_after import retry_after  # noqa: PLC0415 — few servers reject

    return [retry_after(is_rejecting)]


def _goaway(chance: float, dice: Callable[[], float]) -> Sequence[Filter]:
    """Return the filter that ends connections, if there is a chance."""
    if chance <= 0:
        return []
    from steersman.apiserver.filters.goaway import probabilistic_goaway  # noqa: PLC0415 — few servers have one

    return [probabilistic_goaway(chance, dice)]


def _cors(origins: Sequence[str]) -> Sequence[Filter]:
    """Return the filter for requests of browsers, if origins are allowed."""
    if not origins:
        return []
    from steersman.apiserver.filters.cors import cors  # noqa: PLC0415 — few servers allow any

    return [cors(origins)]


def _limits(options: ChainOptions) -> Filter:
    """Return the filters that limit concurrency."""
    if options.flow_control is not None:
        return priority_and_fairness(options.flow_control, options.in_flight)
    return max_in_flight(options.in_flight, reading_max=options.reading_max, mutating_max=options.mutating_max)


def _audit_filters(auditor: Auditor) -> tuple[Sequence[Filter], Sequence[Filter]]:
    """Return the audit filters: outside of authentication, and inside (which records the end of streams last)."""
    from steersman.apiserver.filters.audit import audit, failed_authentication  # noqa: PLC0415 — few servers record

    return [failed_authentication(auditor)], [audit(auditor)]
