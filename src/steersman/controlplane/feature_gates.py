"""Validation of ``--feature-gates`` (upstream: ``k8s.io/component-base/featuregate``)."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from steersman.controlplane.known_feature_gates import DEPRECATED, GA, KNOWN_FEATURE_GATES
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

#: Gates with an effect in Steersman, beside those of fields (``apiserver.kinds.disabled_fields``); all others have the
#: behavior of their default in Kubernetes 1.36.
IMPLEMENTED: Final = frozenset(
    {
        "APIResponseCompression", "APIServerIdentity", "AllowUnsafeMalformedObjectDeletion", "CBORServingAndStorage",
        "ComponentFlagz", "ComponentStatusz", "CoordinatedLeaderElection", "MaxUnavailableStatefulSet",
        "MutatingAdmissionPolicy", "PodTopologyLabelsAdmission", "StorageVersionHash", "WatchList",
    }
)  # fmt: skip


def check_feature_gates(gates: Mapping[str, bool], also_implemented: Collection[str] = ()) -> list[str]:
    """Return warnings to log. Raise ``OptionError`` for an unknown gate and for one that is locked to another value.

    ``also_implemented``: further gates with an effect in the component.
    """
    implemented = IMPLEMENTED.union(also_implemented)
    return [warning for name, enabled in gates.items() for warning in _check(name, implemented, enabled=enabled)]


def _check(name: str, implemented: Collection[str], *, enabled: bool) -> list[str]:
    gate = KNOWN_FEATURE_GATES.get(name)
    if gate is None:
        nearest = difflib.get_close_matches(name, KNOWN_FEATURE_GATES, n=1)
        hint = f"; did you mean {nearest[0]}?" if nearest else ""
        raise OptionError(f"--feature-gates: unrecognized feature gate: {name}{hint}")
    if gate.locked and enabled != gate.default:
        raise OptionError(
            f"--feature-gates: cannot set feature gate {name} to {_go(enabled)}, feature is locked to {_go(gate.default)}"
        )
    warnings = []
    if gate.stage in (DEPRECATED, GA):
        stage = "deprecated" if gate.stage == DEPRECATED else "GA"
        warnings.append(f"Setting {stage} feature gate {name}={_go(enabled)}. It will be removed in a future release.")
    # AllBeta=false would switch off the gates of a stage that are on by default.
    if name not in implemented and (enabled != gate.default or name == "AllBeta"):
        warnings.append(
            f"feature gate {name}={_go(enabled)} has no effect: Steersman keeps the default of Kubernetes 1.36"
        )
    return warnings


def _go(value: object) -> str:
    return str(value).lower()
