"""Controller of created and changed ValidatingAdmissionPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from lightkube.models.admissionregistration_v1 import ValidatingAdmissionPolicy

from steersman.client.changes import Deleted
from steersman.client.errors import NotFound
from steersman.controllers.admissionpolicystatus.plan import TYPES_MAX, checked, is_checked, matched, shown_kind
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.cel.types import Type
    from steersman.controllers.admissionpolicystatus.plan import GroupVersionKind
    from steersman.controllers.admissionpolicystatus.types import Types
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
        from steersman.cel.type_checking import expression_warnings  # noqa: PLC0415 — see above
        from steersman.controllers.admissionpolicystatus.types import Types  # noqa: PLC0415 — see above

        types = Types(self.client)
        kinds: list[tuple[str, Type]] = []
        for kind in sorted(await _matched_kinds(spec, types)):
            kind_type = await types.type_of(*kind)
            if kind_type is not None:
                kinds.append((shown_kind(*kind), kind_type))
        params = None
        if kinds and (param_kind := spec.get("paramKind")):
            group, _, version = param_kind["apiVersion"].rpartition("/")
            params = await types.type_of(group, version, param_kind["kind"])
        return expression_warnings(spec, kinds, params)


async def _matched_kinds(spec: dict[str, Any], types: Types) -> set[GroupVersionKind]:
    """Return the kinds to check. Raises ClientError."""
    kinds: set[GroupVersionKind] = set()
    for resources in matched(spec):
        count = 0
        for resource in resources:
            for kind in await types.kinds_of(resource):
                kinds.add(kind)
                count += 1
                if count == TYPES_MAX:
                    return kinds
    return kinds


def build(context: ControllerContext) -> PolicyStatusController:
    """Construct the controller."""
    return PolicyStatusController(context)
