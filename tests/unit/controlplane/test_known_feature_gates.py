"""The table of feature gates of Kubernetes 1.36."""

from steersman.controlplane.known_feature_gates import (
    ALPHA,
    BETA,
    DEPRECATED,
    GA,
    KNOWN_FEATURE_GATES,
    FeatureGate,
)


def test_table_of_feature_gates_is_consistent():
    assert KNOWN_FEATURE_GATES["CoordinatedLeaderElection"] == FeatureGate(BETA, default=False)
    for name, gate in KNOWN_FEATURE_GATES.items():
        assert name.isalnum()
        assert gate.stage in (ALPHA, BETA, GA, DEPRECATED)
        if gate.stage in (ALPHA, BETA):
            assert not gate.locked
        if gate.stage == ALPHA:
            assert not gate.default
        if gate.stage == GA:
            assert gate.default
