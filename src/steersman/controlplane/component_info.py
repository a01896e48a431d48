"""Versions and feature gates of a component, for metrics. Upstream: ``k8s.io/component-base``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.build_info import version_document
from steersman.controlplane.known_feature_gates import GA, KNOWN_FEATURE_GATES
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def version_labels() -> dict[str, str]:
    """Return the labels of ``version_info``. The component is upstream's ``DefaultKubeComponent``."""
    major, minor, *_ = KUBERNETES_VERSION.removeprefix("v").split(".")
    version = f"{major}.{minor}"
    return {
        "component": "kube",
        "binary": version,
        "emulation": version,
        "min_compat": f"{major}.{int(minor) - 1}",
    }


def build_labels() -> dict[str, str]:
    """Return the labels of ``kubernetes_build_info``. Upstream: ``component-base/metrics/version.go``."""
    version = version_document()
    return {
        "major": version["major"],
        "minor": version["minor"],
        "git_version": version["gitVersion"],
        "git_commit": version["gitCommit"],
        "git_tree_state": version["gitTreeState"],
        "build_date": version["buildDate"],
        "go_version": version["goVersion"],
        "compiler": version["compiler"],
        "platform": version["platform"],
    }


def feature_states(gates: Mapping[str, bool]) -> Iterator[tuple[str, str, bool]]:
    """Yield name, stage (empty for GA) and state of each feature gate; ``gates`` are those that were set."""
    for name, gate in KNOWN_FEATURE_GATES.items():
        yield name, "" if gate.stage == GA else gate.stage, gates.get(name, gate.default)
