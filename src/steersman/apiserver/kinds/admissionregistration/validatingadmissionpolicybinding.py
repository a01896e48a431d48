"""Strategy of ValidatingAdmissionPolicyBindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.kinds.admissionregistration.shared.policies import PolicyBindingStrategy
from steersman.apiserver.kinds.admissionregistration.shared.policy_validation import validate_binding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree


class ValidatingAdmissionPolicyBindingStrategy(PolicyBindingStrategy):
    """Strategy of ValidatingAdmissionPolicyBindings."""

    group_resource = "validatingadmissionpolicybindings.admissionregistration.k8s.io"

    def validate_object(self, obj: Tree) -> Iterable[FieldError]:
        return validate_binding(obj, with_actions=True)
