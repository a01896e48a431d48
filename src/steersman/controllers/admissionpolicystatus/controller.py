"""Controller of ValidatingAdmissionPolicies that are created or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from lightkube.models.admissionregistration_v1 import ValidatingAdmissionPolicy

from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.controllers.admissionpolicystatus.plan import checked, is_checked, matched, shown_kind
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.cel.types import Type
    from steersman.controllers.context import ControllerContext


class PolicyStatusController(ManagedController):
    """Reconciles policies by name."""

    name: ClassVar[str] = "validatingadmissionpolicy-status-controller"
    queue_name: ClassVar[str] = "validatingadmissionpolicy-status"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, workers=context.options.concurrent_validating_admission_policy_status_syncs)
        self._policies = self.watch(ValidatingAdmissionPolicy, when=lambda change: not isinstance(change, Deleted))

    async def reconcile(self, key: str) -> None:
        """Check the expressions against the matched types; the API server has verified that they compile."""
        policy = self._policies.lister.get(key)
        if policy is None or is_checked(policy):
            return
        warnings = await self._warnings(msgspec.to_builtins(policy.spec)) if policy.spec is not None else []
        try:
            written = await self.client.apply(
                checked(policy, warnings), field_manager=self.name, force=True, subresource="status"
            )
        except NotFound:
            return
        self.own_writes.note(key, self._policies, written)

    async def _warnings(self, spec: dict[str, Any]) -> list[dict[str, str]]:
        # The CEL package is slow to import; clusters without policies do not need it.
        from steersman.cel.type_checking import TYPES_MAX, expression_warnings  # noqa: PLC0415 — see above
        from steersman.controllers.admissionpolicystatus.types import Types  # noqa: PLC0415 — see above

        types = Types(self.client)
        kinds: dict[str, Type] = {}
        for resource in matched(spec):
            kind = await types.kind_of(resource)
            resource_type = await types.type_of(resource.group, resource.version, kind) if kind else None
            if resource_type is not None and len(kinds) < TYPES_MAX:
                kinds[shown_kind(resource.group, resource.version, kind)] = resource_type
        if not kinds:
            return []
        param_kind = spec.get("paramKind")
        params = None
        if param_kind:
            group, _, version = param_kind["apiVersion"].rpartition("/")
            params = await types.type_of(group, version, param_kind["kind"])
        if param_kind and params is None:
            return []  # without the type of parameters, expressions cannot be checked
        return expression_warnings(spec, sorted(kinds.items()), params)


def build(context: ControllerContext) -> PolicyStatusController:
    """Construct the controller."""
    return PolicyStatusController(context)
