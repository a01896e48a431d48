"""``MutatingAdmissionWebhook``: webhooks that change or deny writes, called one after another.

After a change all mutating plugins run once more; see ``Reinvocation``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.errors import StatusError, internal_error, plain_error
from steersman.apimachinery.gotext import quote, to_json
from steersman.apimachinery.patch.json_patch import (
    MAX_OPERATIONS,
    NotApplicableError,
    apply_operations,
    operations_of,
)
from steersman.apimachinery.trees import copy_tree
from steersman.apiserver.admission.admission_request import (
    changed_kind,
    in_request_version,
    kind_of,
    objects_in_version,
)
from steersman.apiserver.admission.webhook_calls import CallError, WebhookCaller, call_failed
from steersman.apiserver.admission.webhook_plugin import WebhookPlugin
from steersman.apiserver.request import AuditLevel
from steersman.apiserver.workers import is_large, run_step
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Struct
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.admission.webhook_calls import WebhookServices
    from steersman.apiserver.admission.webhook_configuration import Webhook
    from steersman.apiserver.admission.webhook_index import Candidate
    from steersman.apiserver.admission.webhook_review import Response
    from steersman.apiserver.generic.served import ServedResource
    from steersman.schema.resources import Resource

_MUTATION_KEY: Final = "mutation.webhook.admission.k8s.io/"
_PATCH_KEY: Final = "patch.webhook.admission.k8s.io/"
_FAILED_OPEN_KEY: Final = "failed-open.mutation.webhook.admission.k8s.io/"


class MutatingAdmissionWebhook(WebhookPlugin):
    """Call the matching webhooks in order, and apply their patches."""

    name: ClassVar[str] = "MutatingAdmissionWebhook"

    def __init__(self, services: WebhookServices) -> None:
        super().__init__(WebhookCaller(services, "mutatingwebhookconfigurations", kind="admit"))

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change the object. Raises the error of a webhook that denies the write or fails."""
        return self.call_webhooks(attributes)

    async def dispatch(self, candidates: Sequence[Candidate], attributes: Attributes) -> None:
        is_reinvoke = attributes.reinvocation.is_reinvoke
        own = attributes.reinvocation.of_plugin(self.name)
        if is_reinvoke:
            await run_step(own.begin_second_run, attributes.ctx.is_large, attributes.object)
        for candidate in candidates:
            # One by one: a webhook that is called may change whether the next one matches.
            matching = await self._caller.matching((candidate,), attributes)
            if matching and (not is_reinvoke or own.is_due(candidate.webhook.uid)):
                await self._call(candidate, attributes)
        await run_step(own.finish, attributes.ctx.is_large, attributes.object)

    async def _call(self, candidate: Candidate, attributes: Attributes) -> None:
        caller, state = self._caller, attributes.reinvocation
        webhook, matched = candidate.webhook, candidate.matched
        mark = f"round_{int(state.is_reinvoke)}_index_{candidate.position}"
        started = caller.services.clock.monotonic()
        has_changed = False
        failure: Exception | None = None
        try:
            response = await caller.call(candidate, attributes)
            has_changed = await self._apply(webhook, matched, attributes, response, mark)
        except (CallError, StatusError) as error:
            failure = error
        except asyncio.CancelledError:  # the deadline of the request
            caller.observe(candidate, started, CallError(webhook.name, "context canceled"))
            raise
        attributes.ctx.latency.excluded_seconds += caller.services.clock.monotonic() - started
        note = {"configuration": webhook.configuration, "webhook": webhook.name, "mutated": has_changed}
        attributes.ctx.annotate(_MUTATION_KEY + mark, to_json(note))
        caller.observe(candidate, started, failure)
        own = state.of_plugin(self.name)
        if has_changed:
            state.is_required = True
            own.require_called()
        if webhook.is_reinvoked:
            own.note_called(webhook.uid)
        if isinstance(failure, CallError):
            if webhook.ignores_failures:
                attributes.ctx.annotate(_FAILED_OPEN_KEY + mark, webhook.name)
            else:
                raise call_failed(failure)
        elif failure is not None:
            raise failure

    async def _apply(
        self, webhook: Webhook, matched: Resource, attributes: Attributes, response: Response, mark: str
    ) -> bool:
        """Apply the patch of a response; return whether it changed the object. Raises ``CallError``, 500."""
        if not response.patch:
            return False
        ctx = attributes.ctx
        ctx.is_large |= is_large(len(response.patch))
        has_object = attributes.object is not None
        operations = await run_step(_operations, ctx.is_large, webhook, response, has_object=has_object)
        if not operations:
            return False
        find = self._caller.services.sources.served
        before = (await objects_in_version(attributes, matched, find))[0] or {}
        served = find(matched.group, matched.version, matched.name)
        arguments = before, operations, matched, served, attributes.subresource
        try:
            tree, has_changed = await run_step(patched_object, ctx.is_large, *arguments)
        except (NotApplicableError, DecodeError) as fault:
            raise internal_error(str(fault)) from None
        await _replace_object(attributes, matched, tree, served)
        if ctx.is_recorded(AuditLevel.REQUEST):
            note = {
                "configuration": webhook.configuration,
                "webhook": webhook.name,
                "patch": [dict(sorted(operation.items())) for operation in operations],
                "patchType": response.patch_type,
            }
            text = await run_step(to_json, ctx.is_large, note)
            ctx.annotate(_PATCH_KEY + mark, text, level=AuditLevel.REQUEST)
        return has_changed


def _operations(webhook: Webhook, response: Response, *, has_object: bool) -> list[Any]:
    """Return the operations of a patch. Raises ``CallError``, and 500 for a write without an object."""
    try:
        operations = operations_of(decode_json(response.patch))
    except DecodeError as error:
        reason = f"received undecodable patch in webhook response: {error}"
        raise CallError(webhook.name, reason) from None
    if len(operations) > MAX_OPERATIONS:
        raise CallError(webhook.name, f"patch in webhook response has more than {MAX_OPERATIONS} operations")
    if operations and not has_object:
        detail = "attempted to modify the object, which is not supported for this operation"
        raise internal_error(f"admission webhook {quote(webhook.name)} {detail}")
    if operations and response.patch_type != "JSONPatch":
        raise CallError(webhook.name, f"unsupported patch type {quote(response.patch_type)}")
    return operations


def patched_object(
    before: Tree, operations: list[Any], matched: Resource, served: ServedResource | None, subresource: str
) -> tuple[Tree, bool]:
    """Return the patched object, decoded and defaulted, and whether the patch changed it.

    Raises ``DecodeError``, ``NotApplicableError``, and 500 if the patch changes a built-in object's kind.
    """
    patched = apply_operations(before, operations)
    kind = kind_of(matched, subresource)
    changed = changed_kind(patched, before, served)
    if changed is not None:
        raise plain_error(changed.reason) if changed.is_registered else internal_error(changed.reason)
    if served is not None and kind["kind"] == matched.kind:
        tree = _decode_own(served.decode, served.struct, patched)
        has_changed = tree != before
        served.strategy.default(tree, served.resource.version)
        return tree, has_changed
    try:
        struct = struct_for(kind["group"], kind["version"], kind["kind"])
    except KeyError:
        struct = None
    tree = copy_tree(patched) if struct is None else decode(struct, copy_tree(patched)).tree
    return tree, tree != before


async def _replace_object(attributes: Attributes, matched: Resource, tree: Tree, served: ServedResource | None) -> None:
    """Replace the object of the write by ``tree``, which is in the version of ``matched``. Raises 500."""
    obj = attributes.object
    assert obj is not None
    if served is not None and kind_of(matched, attributes.subresource)["kind"] == matched.kind:
        replacement = await in_request_version(tree, attributes, served)
    else:
        replacement = await run_step(copy_tree, attributes.ctx.is_large, tree)
    obj.clear()
    obj.update(replacement)


def _decode_own(decode_custom: Any, struct: Struct | None, patched: Tree) -> Tree:
    tree: Tree = copy_tree(patched)
    if decode_custom is not None:
        decoded: Tree = decode_custom(tree)[0]
        decoded.setdefault("metadata", {})  # the patch may have removed it
        return decoded
    return tree if struct is None else decode(struct, tree).tree
