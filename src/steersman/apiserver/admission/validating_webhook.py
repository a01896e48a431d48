"""``ValidatingAdmissionWebhook``: webhooks that allow or deny writes, called side by side."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar, Final

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.admission.webhook_calls import CallError, WebhookCaller, call_failed
from steersman.apiserver.admission.webhook_plugin import WebhookPlugin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.webhook_calls import WebhookServices
    from steersman.apiserver.admission.webhook_index import Candidate

_FAILED_OPEN_KEY: Final = "failed-open.validating.webhook.admission.k8s.io/round_0_index_"


class ValidatingAdmissionWebhook(WebhookPlugin):
    """Call the matching webhooks; one denial is enough."""

    name: ClassVar[str] = "ValidatingAdmissionWebhook"

    def __init__(self, services: WebhookServices) -> None:
        super().__init__(WebhookCaller(services, "validatingwebhookconfigurations", kind="validating"))

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise the error of the first webhook that denies the write or fails."""
        return self.call_webhooks(attributes)

    async def dispatch(self, candidates: Sequence[Candidate], attributes: Attributes) -> None:
        matching = await self._caller.matching(candidates, attributes)
        #: In order of completion.
        errors: list[StatusError] = []
        clock = self._caller.services.clock
        started = clock.monotonic()
        if len(matching) == 1:
            await self._call(matching[0], attributes, 0, errors)
        elif matching:
            async with asyncio.TaskGroup() as group:
                for position, candidate in enumerate(matching):
                    call = self._call(candidate, attributes, position, errors)
                    group.create_task(call, name=f"webhook {candidate.webhook.name}")
        if matching:
            attributes.ctx.latency.excluded_seconds += clock.monotonic() - started
        if errors:
            raise errors[0]

    async def _call(
        self, candidate: Candidate, attributes: Attributes, position: int, errors: list[StatusError]
    ) -> None:
        """Call one webhook, the matching one of this position."""
        caller, webhook = self._caller, candidate.webhook
        started = caller.services.clock.monotonic()
        failure: Exception | None = None
        try:
            await caller.call(candidate, attributes)
        except CallError as error:
            failure = error
            if webhook.ignores_failures:
                attributes.ctx.annotate(f"{_FAILED_OPEN_KEY}{position}", webhook.name)
            else:
                errors.append(call_failed(error))
        except StatusError as denial:
            failure = denial
            errors.append(denial)
        except asyncio.CancelledError:  # the deadline of the request
            caller.observe(candidate, started, CallError(webhook.name, "context canceled"))
            raise
        caller.observe(candidate, started, failure)
