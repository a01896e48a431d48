"""Strategy and validation of NetworkPolicies."""
