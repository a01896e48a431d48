"""Strategy of MutatingAdmissionPolicies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column
from steersman.apiserver.kinds.admissionregistration.shared.policies import PolicyStrategy
from steersman.apiserver.kinds.admissionregistration.shared.policy_validation import validate_mutating_policy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree


class MutatingAdmissionPolicyStrategy(PolicyStrategy):
    """Strategy of MutatingAdmissionPolicies."""

    group_resource = "mutatingadmissionpolicies.admissionregistration.k8s.io"
    rules_field = "mutations"
    columns = (
        columns.NAME_COLUMN,
        Column(
            "Mutations",
            type="integer",
            description="Mutation indicates the number of mutations rules defined in this configuration",
        ),
        Column("ParamKind", description="ParamKind specifies the kind of resources used to parameterize this policy"),
        columns.AGE_COLUMN,
    )

    def validate_object(self, obj: Tree) -> Iterable[FieldError]:
        return validate_mutating_policy(obj)
