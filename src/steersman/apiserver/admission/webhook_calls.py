"""Matching and calling of webhooks, common to mutating and validating ones.

Upstream: ``generic.Webhook`` and the ``callHook`` functions of staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError, internal_error
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.names import check_qualified_name
from steersman.apimachinery.reviews import ReviewDecodeError
from steersman.apiserver.admission.admission_request import objects_in_version
from steersman.apiserver.admission.lookups import Lookup
from steersman.apiserver.admission.validating_policy import PolicySources, variables_of
from steersman.apiserver.admission.validating_policy_match import selects_namespace, selects_object
from steersman.apiserver.admission.webhook_configuration import webhooks_of
from steersman.apiserver.admission.webhook_index import WebhookIndex
from steersman.apiserver.admission.webhook_metrics import RejectionError, WebhookMetrics
from steersman.apiserver.admission.webhook_review import (
    InvalidResponseError,
    denial,
    dry_run_unsupported,
    read_response,
    review_request,
)
from steersman.apiserver.authz.pending import allow_with_decisions
from steersman.apiserver.generic.identity import Identities
from steersman.apiserver.webhooks.client import WebhookCallError, WebhookConfigError
from steersman.apiserver.workers import in_worker, is_large

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.validating_policy_rules import Conditions
    from steersman.apiserver.admission.webhook_configuration import Webhook
    from steersman.apiserver.admission.webhook_index import Candidate
    from steersman.apiserver.admission.webhook_review import Response
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.entry import Entry
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.webhooks.client import WebhookClients
    from steersman.cel.evaluator import Evaluated

_log: Final = logging.getLogger(__name__)

_AGENT: Final = "kube-apiserver-admission"
_GROUP: Final = "admissionregistration.k8s.io"


class CallError(Exception):
    """A webhook gave no valid response; ``failurePolicy`` decides. Upstream: ``ErrCallingWebhook``."""

    def __init__(self, webhook: str, reason: str, *, code: int = 503) -> None:
        super().__init__(f"failed calling webhook {quote(webhook)}: {reason}")
        self.code: Final = code


class RejectionStatusError(StatusError):
    """A webhook denied the write. Upstream: ``ErrWebhookRejection``."""


class WebhookServices:
    """Dependencies of the two plugins."""

    def __init__(
        self,
        registry: Registry,
        *,
        authorizer: Authorizer,
        clients: WebhookClients,
        dice: Random,
        metrics: WebhookMetrics | None = None,
    ) -> None:
        self.registry: Final = registry
        self.sources: Final = PolicySources(registry, authorizer=authorizer)
        self.clients: Final = clients
        self.clock: Final = registry.clock
        #: Of reviews.
        self.identities: Final = Identities(dice)
        self.metrics: Final = metrics or WebhookMetrics()


class WebhookCaller:
    """Webhooks of one kind of configuration: ``admit`` (mutating) or ``validating``."""

    def __init__(self, services: WebhookServices, plural: str, *, kind: str) -> None:
        self.services: Final = services
        self.metrics: Final = services.metrics
        self._kind: Final = kind
        self._is_mutating: Final = kind == "admit"
        #: Configurations as tuples of webhooks, by name.
        self.configurations: Final = Lookup(services.registry.stored(f"{plural}.{_GROUP}").cache, webhooks_of)
        self._namespaces: Final = services.registry.stored("namespaces").cache
        self._indexed: Sequence[Sequence[Webhook]] | None = None
        self._index = self._new_index(())
        self._follows_namespaces = False
        services.registry.listeners.append(self._invalidate)

    def _new_index(self, configurations: Sequence[Sequence[Webhook]]) -> WebhookIndex:
        return WebhookIndex(configurations, self.services.sources.resource, self._namespaces)

    def _invalidate(self, group: str, version: str, name: str) -> None:
        """Rebuild the index when served resources change: others may be equivalent then."""
        self._indexed = None

    def cached_candidates(self, attributes: Attributes) -> Sequence[Candidate] | None:
        """Return the webhooks that can match the write; None if the configurations are not known yet."""
        configurations = self.configurations.list_cached()
        if configurations is None:
            return None
        if configurations is not self._indexed:
            if not self._follows_namespaces:
                self._follows_namespaces = True
                self._namespaces.follow(self)
            self._index = self._new_index(configurations)
            self._indexed = configurations
        return self._index.candidates(attributes, are_labels_final=not self._is_mutating)

    async def candidates(self, attributes: Attributes) -> Sequence[Candidate]:
        """Return the webhooks that can match the write."""
        await self.configurations.all()
        return self.cached_candidates(attributes) or ()

    # -- follower of the cache of namespaces ---------------------------------------------------------------------------

    def reset(self, entries: list[Entry]) -> None:
        """Match all namespaces again."""
        self._index.forget_namespaces()

    def put(self, entry: Entry) -> None:
        """Match a namespace again."""
        self._index.forget_namespace(entry.name)

    def remove(self, key: str) -> None:
        """Match a namespace of this name again when there is one."""
        self._index.forget_namespace(key[key.rfind("/") + 1 :])

    # -- matching ------------------------------------------------------------------------------------------------------

    async def matching(self, candidates: Sequence[Candidate], attributes: Attributes) -> Sequence[Candidate]:
        """Return the candidates whose selectors and match conditions hold.

        Raises 403 for an error in a condition, 404 without the namespace.
        """
        sources = self.services.sources
        selected = [
            candidate
            for candidate in candidates
            if (candidate.webhook.objects.is_empty or selects_object(candidate.webhook.objects, attributes))
            and (
                candidate.webhook.namespaces.is_empty
                or await selects_namespace(candidate.webhook.namespaces, attributes, sources.namespace)
            )
        ]
        #: Variables of match conditions by the version of the objects.
        variables: dict[str, Tree] = {}
        for candidate in selected:
            if candidate.webhook.match_conditions and candidate.api_version not in variables:
                variables[candidate.api_version] = await variables_of(attributes, candidate.matched, sources)
        if not variables:
            return selected
        evaluated = await allow_with_decisions(_evaluate_conditions, selected, variables, self.services.clock.monotonic)
        matching: list[Candidate] = []
        observe = self.metrics.conditions.observe
        for candidate, conditions in evaluated:
            if conditions is None:
                matching.append(candidate)
                continue
            observe(
                conditions,
                kind="webhook",
                name=candidate.webhook.name,
                operation=candidate.operation,
                type_=self._kind,
            )
            if conditions.failure:
                raise attributes.forbidden(conditions.failure)
            if conditions.hold:
                matching.append(candidate)
        return matching

    async def call(self, candidate: Candidate, attributes: Attributes) -> Response:
        """Call a webhook; record its warnings and annotations.

        Raises ``CallError``, ``RejectionStatusError``, and 400 for a dry run that the webhook does not support.
        """
        webhook = candidate.webhook
        if attributes.dry_run and not webhook.has_dry_run:
            raise dry_run_unsupported(webhook.name)
        response = await self._exchange(candidate, attributes)
        for name, value in response.annotations:
            key = f"{webhook.name}/{name}"
            if "/" in name or check_qualified_name(key):
                _log.warning("the audit annotation %r of a webhook has no valid key", key)
            else:
                attributes.ctx.annotate(key, value)
        attributes.ctx.warn_all(response.warnings)
        if not response.is_allowed:
            raise RejectionStatusError(denial(webhook.name, response.status).status)
        return response

    async def _exchange(self, candidate: Candidate, attributes: Attributes) -> Response:
        services, webhook = self.services, candidate.webhook
        name, version = webhook.name, webhook.review_version
        if not version:
            reason = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise CallError(name, reason, code=400)
        uid = services.identities.uid()
        try:
            objects = await objects_in_version(attributes, candidate.matched, services.sources.served)
        except StatusError as refused:
            raise internal_error(refused.message) from None
        if attributes.ctx.is_large:
            request = await in_worker(review_request, attributes, candidate, objects, uid=uid)
        else:
            request = review_request(attributes, candidate, objects, uid=uid)
        try:
            client = services.clients.client(webhook.target)
        except WebhookConfigError as error:
            raise CallError(name, f"could not get REST client: {error}", code=500) from None
        try:
            body = await client.post(request, timeout_seconds=webhook.timeout_seconds, agent=_AGENT)
        except WebhookCallError as failure:
            code = 503 if failure.status is None else failure.status.code
            raise CallError(name, f"failed to call webhook: {failure}", code=code) from None

        try:
            if is_large(len(body)):
                return await in_worker(read_response, body, version=version, uid=uid, is_mutating=self._is_mutating)
            return read_response(body, version=version, uid=uid, is_mutating=self._is_mutating)
        except ReviewDecodeError as garbled:
            raise CallError(name, f"failed to call webhook: {garbled}") from None
        except InvalidResponseError as invalid:
            raise CallError(name, f"received invalid webhook response: {invalid}") from None

    def observe(self, candidate: Candidate, started: float, error: Exception | None) -> None:
        """Count a call that ended with ``error``."""
        metrics, webhook, operation = self.metrics, candidate.webhook, candidate.operation
        code, rejection = 200, None
        if isinstance(error, CallError):
            code = error.code
            rejection = None if webhook.ignores_failures else RejectionError.CALLING_WEBHOOK
        elif isinstance(error, RejectionStatusError):
            code, rejection = error.code, RejectionError.NONE
        elif error is not None:
            code, rejection = 0, RejectionError.API_SERVER_INTERNAL
        seconds = self.services.clock.monotonic() - started
        is_rejected = rejection is not None
        metrics.observe_call(webhook.name, self._kind, operation, seconds=seconds, is_rejected=is_rejected, code=code)
        if rejection is not None:
            metrics.observe_rejection(webhook.name, self._kind, operation, rejection, code)
        elif error is not None:
            metrics.observe_fail_open(webhook.name, self._kind)


def _evaluate_conditions(
    candidates: Sequence[Candidate], variables: dict[str, Tree], monotonic: Callable[[], float]
) -> list[tuple[Candidate, Conditions | None]]:
    """Evaluate match conditions up to the first failure; equal expressions of several webhooks once."""
    evaluated: list[tuple[Candidate, Conditions | None]] = []
    results: dict[str, dict[str, Evaluated]] = {api_version: {} for api_version in variables}
    for candidate in candidates:
        webhook = candidate.webhook
        if not webhook.match_conditions:
            evaluated.append((candidate, None))
            continue
        version = candidate.api_version
        conditions = webhook.evaluate_conditions(variables[version], monotonic, results[version])
        evaluated.append((candidate, conditions))
        if conditions is not None and conditions.failure:
            break
    return evaluated


def call_failed(error: CallError) -> StatusError:
    """Return the error of a write whose webhook failed under ``failurePolicy: Fail``."""
    return internal_error(str(error))
