"""Conversion webhook of one CustomResourceDefinition.

Upstream: ``webhookConverter`` of staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

from steersman.apimachinery.errors import plain_error
from steersman.apimachinery.reviews import ReviewDecodeError
from steersman.apiserver.crd.conversion_metrics import ConversionMetrics, FailureType
from steersman.apiserver.crd.conversion_review import (
    InvalidObjectError,
    InvalidPart,
    MalformedResponseError,
    read_response,
    review_request,
    verified,
)
from steersman.apiserver.crd.pruning import prune
from steersman.apiserver.kinds.shared.webhook_clients import REVIEW_VERSIONS
from steersman.apiserver.webhooks.client import RESPONSE_BYTES_MAX, WebhookCallError, WebhookConfigError, target_of
from steersman.apiserver.workers import in_worker, is_large

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from steersman.apimachinery.errors import StatusError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.crd.definition import CustomVersion
    from steersman.apiserver.webhooks.client import WebhookClients
    from steersman.asynckit.clock import Clock

#: Upstream's time-out of a call, which also covers the wait for a connection.
TIMEOUT_SECONDS: Final = 30.0
#: Upstream's client of webhooks has one name.
_AGENT: Final = "kube-apiserver-admission"
#: An answer may be this many times as long as its request.
_GROWTH_MAX: Final = 4


class ConversionServices:
    """Dependencies of conversion webhooks."""

    def __init__(self, clients: WebhookClients, *, clock: Clock, dice: Random) -> None:
        self.clients: Final = clients
        self.clock: Final = clock
        self.dice: Final = dice
        self.metrics: Final = ConversionMetrics()


#: Texts about the only object of a request.
_INVALID: Final = {
    InvalidPart.TYPE: "returned invalid object at index 0: ",
    InvalidPart.IDENTITY: "returned invalid object: ",
    InvalidPart.METADATA: "returned invalid metadata: ",
}


class _ConversionError(Exception):
    """A failed conversion; unless ``names_webhook`` is False, clients receive which one before the text."""

    def __init__(self, text: str, failure: FailureType, *, names_webhook: bool = True) -> None:
        super().__init__(text)
        self.failure: Final = failure
        self.names_webhook: Final = names_webhook


class ConversionWebhook:
    """The webhook that ``spec.conversion`` of a definition names."""

    def __init__(self, definition: str, conversion: Tree, services: ConversionServices) -> None:
        self._definition: Final = definition
        webhook = conversion.get("webhook") or {}
        self._client_config: Final[Tree] = webhook.get("clientConfig") or {}
        versions = webhook.get("conversionReviewVersions") or ()
        #: The first version of the definition that this server knows; empty if there is none.
        self._review_version: Final[str] = next((version for version in versions if version in REVIEW_VERSIONS), "")
        self._services: Final = services

    async def convert(self, objects: Sequence[Tree], target: CustomVersion) -> list[Tree]:
        """Return objects of other versions in the target version, pruned by its schema, by one call. Raises 500."""
        if not self._review_version:
            raise plain_error("no supported conversion review versions")
        services = self._services
        source = objects[0]
        started, failure = services.clock.monotonic(), FailureType.NONE
        try:
            return await self._convert(objects, target)
        except _ConversionError as error:
            failure = error.failure
            if not error.names_webhook:
                raise plain_error(str(error)) from None
            raise plain_error(f"conversion webhook for {source['apiVersion']}, Kind={source['kind']} {error}") from None
        finally:
            services.metrics.observe(
                self._definition,
                source["apiVersion"].rpartition("/")[2],
                target.resource.version,
                seconds=services.clock.monotonic() - started,
                failure=failure,
            )

    async def _convert(self, objects: Sequence[Tree], target: CustomVersion) -> list[Tree]:
        api_version = target.resource.api_version
        uid = str(UUID(int=self._services.dice.getrandbits(128), version=4))
        version = self._review_version
        if len(objects) == 1:
            request = review_request(objects, version=version, api_version=api_version, uid=uid)
        else:
            request = await in_worker(review_request, objects, version=version, api_version=api_version, uid=uid)
        body = await self._post(request)

        def read() -> list[Tree]:
            converted = _converted(objects, body, version=version, api_version=api_version, uid=uid)
            return [prune(target.shape, tree).tree for tree in converted]

        return await in_worker(read) if is_large(len(body)) else read()

    async def _post(self, request: bytes) -> bytes:
        try:
            client = self._services.clients.client(target_of(self._client_config))
            return await client.post(
                request,
                timeout_seconds=TIMEOUT_SECONDS,
                agent=_AGENT,
                response_bytes_max=max(RESPONSE_BYTES_MAX, _GROWTH_MAX * len(request)),
            )
        except (WebhookConfigError, WebhookCallError) as error:
            raise _ConversionError(f"failed: {error}", FailureType.CALL) from None


def _converted(objects: Sequence[Tree], body: bytes, *, version: str, api_version: str, uid: str) -> list[Tree]:
    """Return the verified objects of an answer. Raises ``_ConversionError``."""
    try:
        answers = read_response(body, version=version, uid=uid)
    except ReviewDecodeError as error:
        raise _ConversionError(f"failed: {error}", FailureType.CALL) from None
    except MalformedResponseError as malformed:
        raise _ConversionError(f"failed: {malformed}", FailureType.MALFORMED_RESPONSE) from None
    if len(answers) != len(objects):
        text = f"returned {len(answers)} objects, expected {len(objects)}"
        raise _ConversionError(text, FailureType.PARTIAL_RESPONSE)
    converted: list[Tree] = []
    for position, (source, answer) in enumerate(zip(objects, answers, strict=True)):
        try:
            converted.append(verified(source, answer, api_version=api_version))
        except InvalidObjectError as invalid:
            raise _invalid(invalid, position if len(objects) > 1 else None) from None
    return converted


def _invalid(invalid: InvalidObjectError, position: int | None) -> _ConversionError:
    """Return the error about an object, with its position if the request had several.

    Upstream nearly always converts one object at a time, and has other texts for it than for lists.
    """
    if position is not None:
        part = "metadata in object" if invalid.part is InvalidPart.METADATA else "converted object"
        text = f"returned invalid {part} at index {position}: {invalid}"
        return _ConversionError(text, FailureType.INVALID_OBJECT)
    prefix = _INVALID.get(invalid.part)
    return _ConversionError(f"{prefix or ''}{invalid}", FailureType.INVALID_OBJECT, names_webhook=prefix is not None)


def invalid_version(api_version: str) -> StatusError:
    """Return the error of a stored object in a version that the definition does not have. Upstream: ``delegatingConverter``."""
    return plain_error(f"request to convert CR from an invalid group/version: {api_version}")
