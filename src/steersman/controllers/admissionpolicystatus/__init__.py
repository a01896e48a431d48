"""Type checking of ValidatingAdmissionPolicies and their status (``validatingadmissionpolicy-status-controller``)."""
