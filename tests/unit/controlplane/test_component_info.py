"""Versions and feature gates that metrics report."""

from steersman.controlplane.component_info import feature_states, version_labels


def test_version_labels_name_minor_versions():
    assert version_labels() == {"component": "kube", "binary": "1.36", "emulation": "1.36", "min_compat": "1.35"}


def test_feature_states_follow_set_gates():
    states = {name: (stage, is_on) for name, stage, is_on in feature_states({"CoordinatedLeaderElection": True})}
    assert states["CoordinatedLeaderElection"] == ("BETA", True)
    assert states["AllAlpha"] == ("ALPHA", False)
    assert "GA" not in {stage for stage, _ in states.values()}
