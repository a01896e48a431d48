"""Strategy of ValidatingAdmissionPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column
from steersman.apiserver.kinds.admissionregistration.shared.policies import PolicyStrategy
from steersman.apiserver.kinds.admissionregistration.shared.policy_validation import (
    validate_policy_status,
    validate_validating_policy,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


class ValidatingAdmissionPolicyStrategy(PolicyStrategy):
    """Strategy of ValidatingAdmissionPolicies."""

    group_resource = "validatingadmissionpolicies.admissionregistration.k8s.io"
    rules_field = "validations"
    columns = (
        columns.NAME_COLUMN,
        Column(
            "Validations",
            type="integer",
            description="Validations indicates the number of validation rules defined in this configuration",
        ),
        Column("ParamKind", description="ParamKind specifies the kind of resources used to parameterize this policy"),
        columns.AGE_COLUMN,
    )

    def validate_object(self, obj: Tree) -> Iterable[FieldError]:
        return validate_validating_policy(obj)

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return list(validate_policy_status(obj.get("status") or {}))
