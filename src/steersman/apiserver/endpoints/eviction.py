"""``pods/eviction``: delete a pod if its disruption budget allows it.

Steps for a pod with a budget: the budget's status counts the disruption (one atomic update, repeated after a conflict), the
pod gets the condition ``DisruptionTarget``, the pod is deleted. An eviction that fails between two steps leaves a counted
disruption, which the disruption controller removes later.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import StatusError, bad_request, conflict, is_conflict, not_found, plain_error
from steersman.apiserver.endpoints.object_write import ObjectWrite
from steersman.apiserver.endpoints.options import check_delete_options, delete_options_of
from steersman.apiserver.endpoints.posting import PostScope, read_posted, render_success
from steersman.apiserver.endpoints.request_scope import RequestScope
from steersman.apiserver.generic import deletion
from steersman.apiserver.generic.options import WriteOptions
from steersman.apiserver.generic.server_writes import Change
from steersman.apiserver.generic.write_pipeline import ATTEMPTS_MAX, admit, run_update
from steersman.apiserver.generic.writing import time_text
from steersman.apiserver.kinds.core.pod.conditions import set_condition
from steersman.apiserver.kinds.policy.poddisruptionbudget import disruptions
from steersman.apiserver.request import SERVER_USER, RequestContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.endpoints.posting import PostWrite
    from steersman.apiserver.generic.options import DeleteOptions
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request, Response


_TWO_BUDGETS: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
#: Field manager of budget updates.
_MANAGER: Final = "kube-apiserver"
_CONDITION: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


class EvictionScope(PostScope):
    """Request scope of evictions: pods and their disruption budgets."""

    __slots__ = ("budgets",)

    def __init__(
        self, pods: ServedResource, budgets: ServedResource, *, admission: AdmissionChain, authorizer: Authorizer
    ) -> None:
        super().__init__(
            pods,
            admission=admission,
            authorizer=authorizer,
            subresource="eviction",
            kind="Eviction",
            group_version=("policy", "v1"),
            also=("policy/v1beta1",),
        )
        self.budgets: Final = RequestScope(budgets, admission=admission, authorizer=authorizer, subresource="status")


def eviction_endpoints(
    pods: ServedResource, budgets: ServedResource, *, admission: AdmissionChain, authorizer: Authorizer
) -> Mapping[str, Callable[[Request], Awaitable[Response]]]:
    """Return the endpoint by verb: create."""
    scope = EvictionScope(pods, budgets, admission=admission, authorizer=authorizer)
    return {"create": partial(evict, scope)}


async def evict(scope: EvictionScope, request: Request) -> Response:
    """Return 201 when the pod is deleted or terminating. Raises 400, 403, 404, 409, 429, and 500 for a pod with two budgets."""
    posted, form = await read_posted(scope, request)
    eviction = posted.new
    if eviction["metadata"].get("name") != posted.object_name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = merge_dry_run(eviction.get("deleteOptions") or {}, request.query.get("dryRun") or ())
    await admit(posted)
    await _Eviction(scope, posted, options).run()
    return await render_success(request, form)


class _BudgetUpdate(ObjectWrite):
    """Status update of a budget by the server itself, which decrements ``disruptionsAllowed``."""

    __slots__ = ("_pod",)

    def __init__(self, scope: RequestScope, request: Request, ctx: RequestContext, name: str, *, pod: str) -> None:
        super().__init__(scope, request, ctx, WriteOptions(), name)
        self._pod: Final = pod

    def decode(self) -> None:
        assert self.old is not None  # a status update creates nothing
        self.new = self.scope.to_request_version(self.old)
        disruptions.check_and_decrement(self.new, self._pod, time_text(self.ctx.now))

    def default(self) -> None:
        """Do nothing: the stored budget is defaulted."""


def merge_dry_run(options: Tree, dry_run: Sequence[str]) -> Tree:
    """Return the delete options with the request's own ``dry_run``. Raises 500 when the two do not agree."""
    body_dry_run = list(options.get("dryRun") or ())
    if body_dry_run and dry_run and body_dry_run != list(dry_run):
        request, content = (" ".join(values) for values in (dry_run, body_dry_run))
        raise plain_error(f"Non-matching dry-run options in request and content: [{request}] and [{content}]")
    return {**options, "dryRun": body_dry_run or list(dry_run)}


class _Eviction:
    """One eviction."""

    def __init__(self, scope: EvictionScope, posted: PostWrite, options: Tree) -> None:
        self._scope = scope
        self._request = posted.request
        self._name = posted.object_name
        self._unchecked_options = options
        self._options = delete_options_of(options)
        self._ctx = posted.ctx.changed(dry_run=self._options.dry_run)
        self._says_version = self._options.precondition_resource_version is not None

    async def run(self) -> None:
        """Evict the pod. Raises the error that prevents it."""
        pod = await self._delete_unguarded()
        if pod is None:
            return
        budgets = await self._budgets_of(pod)
        if len(budgets) > 1:
            raise plain_error(_TWO_BUDGETS)
        if not budgets:
            await self._delete(self._options)
        elif disruptions.can_ignore_budget(budgets[0], pod):
            await self._delete_if_unchanged(pod, budgets[0]["metadata"]["name"])
        else:
            await self._count(budgets[0])
            await self._delete(self._options)

    async def _delete_unguarded(self) -> Tree | None:
        """Delete a pod without a budget; return the pod if a budget must be checked."""
        for _ in range(ATTEMPTS_MAX):
            pod = await self._pod()
            if disruptions.is_guarded(pod):
                return pod
            # a pod that may yet become healthy must not have done so meanwhile
            pinned = not self._says_version and not disruptions.is_terminal(pod)
            try:
                await self._delete(self._at_version(pod) if pinned else self._options)
            except StatusError as error:
                if not pinned or not is_conflict(error) or not await self._has_changed(pod):
                    raise
            else:
                return None
        raise conflict("pods", self._name)

    async def _delete_if_unchanged(self, pod: Tree, budget: str) -> None:
        """Delete an unhealthy pod. Raises 429 if it has changed, because it may be healthy now."""
        try:
            await self._delete(self._at_version(pod))
        except StatusError as error:
            if is_conflict(error) and not self._says_version:
                raise disruptions.still_processed(budget) from error
            raise

    async def _pod(self) -> Tree:
        objects = self._scope.objects
        await objects.cache.wait_fresh()
        entry = objects.cache.get(objects.key(self._ctx, self._name))
        if entry is None:
            raise not_found("pods", self._name)
        return objects.layout.tree(entry)

    async def _has_changed(self, pod: Tree) -> bool:
        now = (await self._pod())["metadata"]
        return any(now[part] != pod["metadata"][part] for part in ("uid", "resourceVersion"))

    async def _budgets_of(self, pod: Tree) -> list[Tree]:
        cache = self._scope.budgets.served.cache
        await cache.wait_fresh()
        entries = cache.snapshot(cache.scope(self._ctx.namespace))
        return disruptions.guarding([cache.layout.tree(entry) for entry in entries], pod)

    def _at_version(self, pod: Tree) -> DeleteOptions:
        version = pod["metadata"]["resourceVersion"]
        return msgspec.structs.replace(self._options, precondition_resource_version=version)

    async def _count(self, budget: Tree) -> None:
        """Decrement the budget's allowed disruptions. Raises 403, 404, 409, 429."""
        if self._options.dry_run:
            disruptions.check_disruption(budget)
            return
        scope = self._scope.budgets
        ctx = RequestContext(
            SERVER_USER,
            self._ctx.now,
            namespace=self._ctx.namespace,
            version="v1",
            subresource="status",
            field_manager=_MANAGER,
            audit_id=self._ctx.audit_id,
            group_resource=scope.group_resource,
        )
        await run_update(_BudgetUpdate(scope, self._request, ctx, budget["metadata"]["name"], pod=self._name))

    async def _delete(self, options: DeleteOptions) -> None:
        """Set the condition ``DisruptionTarget``, and delete the pod. Raises 404, 409, and 422 for invalid options."""
        if not options.dry_run:
            version = await self._add_disruption_condition(options)
            if options.precondition_resource_version:
                options = msgspec.structs.replace(options, precondition_resource_version=version)
        check_delete_options(self._unchecked_options)
        await deletion.delete(self._scope.objects, self._ctx, self._name, options)

    async def _add_disruption_condition(self, options: DeleteOptions) -> str:
        """Add the condition ``DisruptionTarget``; return the resourceVersion of the pod."""
        objects = self._scope.objects

        async def transform(old: Tree | None) -> Tree:
            if old is None:
                raise not_found("pods", self._name)
            deletion.check_preconditions(objects, old, self._name, options)
            new = {**old, "metadata": dict(old["metadata"]), "status": dict(old.get("status") or {})}
            set_condition(new["status"], _CONDITION, time_text(self._ctx.now))
            return new

        entry, _ = await objects.update(self._ctx, self._name, Change(transform, subresource="status"))
        return str(entry.revision)
