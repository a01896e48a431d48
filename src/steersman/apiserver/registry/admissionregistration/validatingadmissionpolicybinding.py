"""ValidatingAdmissionPolicyBindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.registry.admissionregistration.policies import PolicyBindingStrategy
from steersman.apiserver.registry.admissionregistration.policy_validation import validate_binding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.registry.strategy import Tree
    from steersman.apiserver.request import RequestContext


class ValidatingAdmissionPolicyBindingStrategy(PolicyBindingStrategy):
    """Where a validating policy applies."""

    group_resource = "validatingadmissionpolicybindings.admissionregistration.k8s.io"

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(validate_binding(obj, with_actions=True))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_binding(obj, with_actions=True))
