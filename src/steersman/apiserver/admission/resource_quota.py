"""``ResourceQuota``: a namespace has only as much as its quotas allow, and what is taken is counted in their status.

A quota holds as its *status* says. Counting is an atomic update of that status, made again when somebody else counted
meanwhile; it comes before the object is stored, so that too much may be counted for a while and never too little. What is
deleted, or was counted and then refused, a controller takes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apimachinery.errors import not_found
from steersman.apimachinery.managedfields.updating import update as own_update
from steersman.apiserver.admission.interface import Attributes, Operation, Plugin
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.generic.server_writes import Change
from steersman.apiserver.generic.writing import time_text
from steersman.apiserver.kinds.quota_evaluators import evaluator_for
from steersman.apiserver.kinds.shared.quota.amounts import Amounts, minus, only, plus, read, shown, texts
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator, is_pertinent
from steersman.apiserver.request import SERVER_USER, RequestContext
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from steersman.apiserver.generic.registry import Kept
    from steersman.schema.resources import Resource

    Tree = dict[str, Any]

#: The server changes quotas in its own name.
_MANAGER: Final = "kube-apiserver"
_RESET: Final = (("spec",),)
#: Namespaced kinds that are not stored, or go on their own.
_IGNORED: Final = frozenset(
    {"bindings", "events", "events.events.k8s.io", "localsubjectaccessreviews.authorization.k8s.io"}
)


class ResourceQuota(Plugin):
    """Creations, and updates of what may come to take more."""

    name: ClassVar[str] = "ResourceQuota"

    def __init__(self, quotas: Kept) -> None:
        self._quotas: Final = Lookup(quotas.cache, whole)
        self._objects: Final = quotas.objects
        self._struct: Final = struct_for("", "v1", "ResourceQuota")

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """All namespaced kinds but those that are not worth counting."""
        if not resource.namespaced or resource.group_resource in _IGNORED:
            return False
        evaluator = evaluator_for(resource.group_resource)
        if operation is Operation.CREATE:
            return not subresource
        if operation is not Operation.UPDATE:
            return False
        return evaluator.counts_updates if not subresource else subresource in evaluator.counted_subresources

    def goes_by(self) -> Lookup[Any]:
        """The quotas."""
        return self._quotas

    async def validate(self, attributes: Attributes) -> None:
        """Raises 403."""
        namespace, obj = attributes.namespace, attributes.object
        if not namespace or obj is None:
            return
        quotas = await self._quotas.all(namespace=namespace)
        if not quotas:
            return
        claim = _Claim(attributes, evaluator_for(attributes.group_resource), obj)
        pertinent = [quota for quota in quotas if claim.concerns(quota)]
        if not pertinent or not claim.usage:
            return
        changed = [quota for quota in pertinent if claim.on(quota) is not None]
        if attributes.dry_run:
            return
        for quota in changed:
            await self._count(claim, namespace, quota["metadata"]["name"])

    async def _count(self, claim: _Claim, namespace: str, name: str) -> None:
        """Add what is claimed to what is used. Raises 403 when somebody else took what was left."""
        asked = claim.attributes.ctx
        ctx = RequestContext(
            SERVER_USER,
            asked.now,
            namespace=namespace,
            version="v1",
            subresource="status",
            field_manager=_MANAGER,
            audit_id=asked.audit_id,
            group_resource="resourcequotas",
        )

        async def transform(old: Tree | None) -> Tree:
            if old is None:
                raise not_found("resourcequotas", name)
            used = claim.on(old)
            new = {**old, "metadata": dict(old["metadata"]), "status": dict(old.get("status") or {})}
            if used is None:
                return new
            new["status"]["used"] = texts(used)
            own_update(
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


class _Claim:
    """What one write takes of quotas."""

    def __init__(self, attributes: Attributes, evaluator: Evaluator, obj: Tree) -> None:
        self.attributes: Final = attributes
        self._evaluator: Final = evaluator
        self._object: Final = obj
        now = attributes.ctx.now
        usage = evaluator.usage(obj, now)
        self._negative: Final = sorted(name for name, amount in usage.items() if amount.nanos < 0)
        if attributes.operation is Operation.UPDATE and attributes.old_object is not None:
            usage = minus(usage, evaluator.usage(attributes.old_object, now))
        #: What is taken now that was not taken before.
        self.usage: Final[Amounts] = {name: amount for name, amount in usage.items() if amount}

    def concerns(self, quota: Tree) -> bool:
        """Whether the quota counts the object. Raises 403 for an object that may not come under it."""
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

    def on(self, quota: Tree) -> Amounts | None:
        """What is used of the quota afterwards; None when that stays the same. Raises 403 when it is too much."""
        status = quota.get("status") or {}
        hard, used = read(status.get("hard")), read(status.get("used"))
        asked = only(self.usage, hard)
        if not asked:
            return None
        after = plus(used, asked)
        exceeded = [name for name in asked if after[name] > hard[name]]
        if exceeded:
            raise self.attributes.forbidden(
                f"exceeded quota: {quota['metadata']['name']}, requested: {shown(only(asked, exceeded))}, "
                f"used: {shown(only(used, exceeded))}, limited: {shown(only(hard, exceeded))}"
            )
        return after
