"""MutatingAdmissionPolicyBindings."""

from __future__ import annotations

from steersman.apiserver.registry.admissionregistration.policies import PolicyBindingStrategy


class MutatingAdmissionPolicyBindingStrategy(PolicyBindingStrategy):
    """Where a mutating policy applies."""

    group_resource = "mutatingadmissionpolicybindings.admissionregistration.k8s.io"
