"""MutatingAdmissionPolicies."""

from __future__ import annotations

from steersman.apiserver.registry import columns
from steersman.apiserver.registry.admissionregistration.policies import PolicyStrategy
from steersman.apiserver.registry.strategy import Column


class MutatingAdmissionPolicyStrategy(PolicyStrategy):
    """Expressions that make changes."""

    group_resource = "mutatingadmissionpolicies.admissionregistration.k8s.io"
    rules_field = "mutations"
    columns = (
        columns.NAME_COLUMN,
        Column("Mutations", type="integer"),
        Column("ParamKind"),
        columns.AGE_COLUMN,
    )
