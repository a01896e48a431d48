"""ValidatingAdmissionPolicies."""

from __future__ import annotations

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.admissionregistration.policies import PolicyStrategy
from steersman.apiserver.registry.strategy import Column


class ValidatingAdmissionPolicyStrategy(PolicyStrategy):
    """Expressions that must hold."""

    group_resource = "validatingadmissionpolicies.admissionregistration.k8s.io"
    rules_field = "validations"
    columns = (
        columns.NAME_COLUMN,
        Column("Validations", type="integer"),
        Column("ParamKind"),
        columns.AGE_COLUMN,
    )
