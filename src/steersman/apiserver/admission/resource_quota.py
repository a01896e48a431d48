"""``ResourceQuota``: enforces a namespace's quotas and charges usage to their status.

The status of a quota is authoritative. Usage is charged by an atomic update of the status, retried on conflict, before
the object is stored: usage may temporarily be too high, never too low. The quota controller releases the usage of
deleted objects and of writes that are rejected after the charge. Upstream:
staging/.../plugin/resourcequota/controller.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import not_found, plain_error
from steersman.apimachinery.managedfields.updating import update as update_managed_fields
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.limited_resources import LimitedResource, read_limited_resources, scopes_text
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.generic.server_writes import Change
from steersman.apiserver.generic.writing import time_text
from steersman.apiserver.kinds.quota_evaluators import evaluator_for
from steersman.apiserver.kinds.shared.quota.amounts import Amounts, minus, only, plus, read, shown, texts
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator, is_pertinent, scope_selectors
from steersman.apiserver.request import SERVER_USER, RequestContext
from steersman.apiserver.workers import run_step
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.registry import StoredResource
    from steersman.schema.resources import Resource


#: Field manager of the status updates.
_MANAGER: Final = "kube-apiserver"
_RESET: Final = (("spec",),)
#: Quotas that are compared on the event loop: about 10 ms.
_QUOTAS_ON_LOOP_MAX: Final = 500
#: Namespaced resources that are not stored or expire.
_IGNORED: Final = frozenset(
    {"bindings", "events", "events.events.k8s.io", "localsubjectaccessreviews.authorization.k8s.io"}
)


class ResourceQuota(Plugin):
    """Quota check of creates, and of updates that may increase usage."""

    name: ClassVar[str] = "ResourceQuota"

    def __init__(self, quotas: StoredResource, *, configuration: Tree | None = None) -> None:
        """``configuration``: a ``ResourceQuotaConfiguration``. Raises ValueError."""
        self._limited: Final = read_limited_resources(configuration)
        self._quotas: Final = Lookup(quotas.cache, whole)
        self._objects: Final = quotas.objects
        self._struct: Final = struct_for("", "v1", "ResourceQuota")

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for namespaced resources that quotas count."""
        if not resource.namespaced or resource.group_resource in _IGNORED:
            return False
        evaluator = evaluator_for(resource.group_resource)
        if operation is Operation.CREATE:
            return not subresource
        if operation is not Operation.UPDATE:
            return False
        return evaluator.counts_updates if not subresource else subresource in evaluator.counted_subresources

    def skip_while_empty(self) -> Lookup[Any] | None:
        """Return the quotas; None if resources are limited without a quota."""
        return None if self._limited else self._quotas

    async def validate(self, attributes: Attributes) -> None:
        """Raise 403 if a quota is exceeded; otherwise charge the usage."""
        namespace, obj = attributes.namespace, attributes.object
        if not namespace or obj is None:
            return
        quotas = await self._quotas.all(namespace=namespace)
        if not quotas and not self._limited:
            return
        evaluator, old = evaluator_for(attributes.group_resource), attributes.old_object
        if old is not None and not attributes.subresource and not evaluator.concerns_update(obj, old):
            return
        is_long = attributes.ctx.is_large or len(quotas) > _QUOTAS_ON_LOOP_MAX
        charge = await run_step(_QuotaCharge, is_long, attributes, evaluator, obj, self._limited)
        changed = await run_step(charge.changed, is_long, quotas)
        if attributes.dry_run:
            return
        for quota in changed:
            await self._charge(charge, namespace, quota["metadata"]["name"])

    async def _charge(self, charge: _QuotaCharge, namespace: str, name: str) -> None:
        """Add the charge to the used amounts. Raises 403 if concurrent writes have used up the quota."""
        requested = charge.attributes.ctx
        ctx = RequestContext(
            SERVER_USER,
            requested.now,
            namespace=namespace,
            version="v1",
            subresource="status",
            field_manager=_MANAGER,
            audit_id=requested.audit_id,
            group_resource="resourcequotas",
        )

        async def transform(old: Tree | None) -> Tree:
            if old is None:
                raise not_found("resourcequotas", name)
            used = charge.usage_after(old)
            new = {**old, "metadata": dict(old["metadata"]), "status": dict(old.get("status") or {})}
            if used is None:
                return new
            new["status"]["used"] = texts(used)
            update_managed_fields(
                old,
                new,
                struct=self._struct,
                manager=_MANAGER,
                api_version="v1",
                time=time_text(ctx.now),
                subresource="status",
                reset_fields=_RESET,
            )
            return new

        await self._objects.update(ctx, name, Change(transform, subresource="status"))


class _QuotaCharge:
    """Usage that one write adds."""

    def __init__(
        self, attributes: Attributes, evaluator: Evaluator, obj: Tree, limited: Sequence[LimitedResource] = ()
    ) -> None:
        self._limited: Final = limited
        self.attributes: Final = attributes
        self._evaluator: Final = evaluator
        self._object: Final = obj
        now = attributes.ctx.now
        usage = evaluator.usage(obj, now)
        self._negative: Final = sorted(name for name, amount in usage.items() if amount.nanos < 0)
        #: Usage of the object.
        self._usage: Final[Amounts] = {name: amount for name, amount in usage.items() if amount}
        self._old_object: Final = attributes.old_object if attributes.operation is Operation.UPDATE else None
        #: Increase over the usage of the old object. Decreases are released by the quota controller.
        self._increase: Amounts = {}
        if self._old_object is not None:
            change = minus(usage, evaluator.usage(self._old_object, now))
            self._increase = {name: amount for name, amount in change.items() if amount.nanos > 0}

    def concerns(self, quota: Tree) -> bool:
        """True if the quota applies to the object. Raises 403 for an object that the quota cannot count."""
        if not is_pertinent(quota, self._evaluator, self._object):
            return False
        name, status = quota["metadata"]["name"], quota.get("status") or {}
        resources = self._evaluator.matching(status.get("hard") or {})
        if fault := self._evaluator.fault(resources, self._object):
            raise self.attributes.forbidden(f"failed quota: {name}: {fault}")
        used = status.get("used") or {}
        if any(resource not in used for resource in resources):
            raise self.attributes.forbidden(f"status unknown for quota: {name}, resources: {','.join(resources)}")
        if self._negative:
            raise self.attributes.forbidden(f"quota usage is negative for resource(s): {','.join(self._negative)}")
        return True

    def changed(self, quotas: Sequence[Tree]) -> list[Tree]:
        """Return the quotas whose usage increases. Raises 403 as ``concerns`` and ``usage_after`` do, and if no quota
        covers the use of a limited resource.
        """
        matching = [quota for quota in quotas if self.concerns(quota)]
        if self._limited and self._is_charged(matching):
            self._check_limited(quotas, matching)
        return [quota for quota in matching if self.usage_after(quota) is not None]

    def _is_charged(self, matching: Sequence[Tree]) -> bool:
        """Report whether the write adds usage."""
        if matching:
            return any(self._added_to(quota) for quota in matching)
        return bool(self._usage if self._old_object is None else self._increase)

    def _check_limited(self, quotas: Sequence[Tree], matching: Sequence[Tree]) -> None:
        """Raise 403 for a limited resource that no matching quota has; 500, as upstream, for a scope of no quota."""
        evaluator, obj = self._evaluator, self._object
        parts = [
            part
            for limited in self._limited
            if limited.group_resource == self.attributes.group_resource
            for part in limited.match_contains
        ]
        names = {name for name in self._usage if any(part in name for part in parts)}
        for quota in matching:
            names.difference_update(evaluator.matching((quota.get("status") or {}).get("hard") or {}))
        if names:
            raise self.attributes.forbidden(f"insufficient quota to consume: {','.join(sorted(names))}")
        limiting = [
            scope for limited in self._limited for scope in limited.match_scopes if evaluator.is_in_scope(scope, obj)
        ]
        covered = {
            scope.get("scopeName")
            for quota in (quotas if limiting else ())
            for scope in scope_selectors(quota)
            if evaluator.is_in_scope(scope, obj)
        }
        if uncovered := [scope for scope in limiting if scope.get("scopeName") not in covered]:
            raise plain_error(f"insufficient quota to match these scopes: [{scopes_text(uncovered)}]")

    def _added_to(self, quota: Tree) -> Amounts:
        """Return what the quota is charged: the whole usage unless it counts the old object already."""
        if self._old_object is not None and is_pertinent(quota, self._evaluator, self._old_object):
            return self._increase
        return self._usage

    def usage_after(self, quota: Tree) -> Amounts | None:
        """Return the quota's used amounts after the charge; None if unchanged. Raises 403 if a limit is exceeded.

        A status is charged whatever the limit, because it reports what exists.
        """
        status = quota.get("status") or {}
        hard, used = read(status.get("hard")), read(status.get("used"))
        requested = only(self._added_to(quota), hard)
        if not requested:
            return None
        after = plus(used, requested)
        exceeded = [name for name in requested if after[name] > hard[name]]
        if exceeded and self.attributes.subresource != "status":
            raise self.attributes.forbidden(
                f"exceeded quota: {quota['metadata']['name']}, requested: {shown(only(requested, exceeded))}, "
                f"used: {shown(only(used, exceeded))}, limited: {shown(only(hard, exceeded))}"
            )
        return after
