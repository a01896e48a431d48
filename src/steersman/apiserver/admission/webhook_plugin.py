"""Base class of the two admission plugins that call webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.validating_policy_match import is_exempt_from_webhooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from steersman.apiserver.admission.lookups import Lookup
    from steersman.apiserver.admission.webhook_calls import WebhookCaller
    from steersman.apiserver.admission.webhook_index import Candidate
    from steersman.schema.resources import Resource


class WebhookPlugin(Plugin):
    """Admission plugin of the webhooks of one kind of configuration."""

    def __init__(self, caller: WebhookCaller) -> None:
        self._caller: Final = caller

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for all writes, except of webhook configurations and policies."""
        return not is_exempt_from_webhooks(resource)

    def skip_while_empty(self) -> Lookup[Any]:
        """Return the configurations."""
        return self._caller.configurations

    def call_webhooks(self, attributes: Attributes) -> Awaitable[None] | None:
        """Dispatch the write to the webhooks that can match it; return None if there are none."""
        candidates = self._caller.cached_candidates(attributes)
        if candidates is None:
            return self._load_and_dispatch(attributes)
        return self.dispatch(candidates, attributes) if candidates else None

    async def _load_and_dispatch(self, attributes: Attributes) -> None:
        await self.dispatch(await self._caller.candidates(attributes), attributes)

    async def dispatch(self, candidates: Sequence[Candidate], attributes: Attributes) -> None:
        """Call the candidates that match the write. Raises the error of a webhook that denies it or fails."""
        raise NotImplementedError
