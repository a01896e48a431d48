"""``--feature-gates``; refusals with their full text are in ``tests/unit/cli/test_refusals.py``."""

import pytest

from steersman.controlplane.feature_gates import IMPLEMENTED, check_feature_gates
from steersman.controlplane.known_feature_gates import KNOWN_FEATURE_GATES
from steersman.controlplane.options import OptionError

_NO_EFFECT = "has no effect: Steersman keeps the default of Kubernetes 1.36"
_REMOVED = "It will be removed in a future release."


@pytest.mark.parametrize(
    ("gates", "warnings"),
    [
        ({}, []),
        ({"CoordinatedLeaderElection": True}, []),
        ({"CoordinatedLeaderElection": False}, []),
        ({"AllowUnsafeMalformedObjectDeletion": True}, []),
        ({"WatchList": True, "GangScheduling": False}, []),
        ({"GangScheduling": True}, [f"feature gate GangScheduling=true {_NO_EFFECT}"]),
        ({"WatchList": False, "ComponentFlagz": False}, []),
        ({"OpenAPIEnums": False}, [f"feature gate OpenAPIEnums=false {_NO_EFFECT}"]),
        ({"CRDObservedGenerationTracking": False}, []),
        (
            {"AllAlpha": True, "AllBeta": False},
            [f"feature gate AllAlpha=true {_NO_EFFECT}", f"feature gate AllBeta=false {_NO_EFFECT}"],
        ),
        ({"AllAlpha": False}, []),
        ({"SidecarContainers": True}, [f"Setting GA feature gate SidecarContainers=true. {_REMOVED}"]),
        ({"KMSv1": False}, [f"Setting deprecated feature gate KMSv1=false. {_REMOVED}"]),
        (
            {"KMSv1": True},
            [
                f"Setting deprecated feature gate KMSv1=true. {_REMOVED}",
                f"feature gate KMSv1=true {_NO_EFFECT}",
            ],
        ),
    ],
)
def test_known_feature_gate_is_accepted_with_warnings(gates, warnings):
    assert check_feature_gates(gates) == warnings


@pytest.mark.parametrize("name", [name for name, gate in KNOWN_FEATURE_GATES.items() if gate.locked])
def test_locked_feature_gate_accepts_only_its_default(name):
    default = KNOWN_FEATURE_GATES[name].default
    check_feature_gates({name: default})
    with pytest.raises(OptionError, match=f"cannot set feature gate {name} to {str(not default).lower()}, feature is"):
        check_feature_gates({name: not default})


def test_implemented_feature_gates_are_known():
    assert KNOWN_FEATURE_GATES.keys() >= IMPLEMENTED
