"""ValidatingAdmissionPolicyBindings."""

from __future__ import annotations

from steersman.apiserver.registry.admissionregistration.policies import PolicyBindingStrategy


class ValidatingAdmissionPolicyBindingStrategy(PolicyBindingStrategy):
    """Where a validating policy applies."""

    group_resource = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
