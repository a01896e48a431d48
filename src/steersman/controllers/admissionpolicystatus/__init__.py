"""ValidatingAdmissionPolicies say which generation was looked at (``validatingadmissionpolicy-status-controller``)."""
