"""``version.Info`` of this build, for ``/version`` and ``kubernetes_build_info``."""

from __future__ import annotations

import os
import sys

from steersman.version import KUBERNETES_VERSION, __version__

#: Go's names of machine architectures.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def version_document() -> dict[str, str]:
    """Return ``version.Info``. ``gitVersion`` is a semver with Steersman's version as build metadata, ignored by
    comparisons.
    """
    major, minor, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
    machine = os.uname().machine
    python = sys.implementation.name
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{KUBERNETES_VERSION}+steersman-{__version__}",
        # Commit and date of the build are unknown at run time.
        "gitCommit": "unknown",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"{python}{'.'.join(map(str, sys.version_info[:3]))}",
        "compiler": python,
        "platform": f"{sys.platform}/{_ARCHITECTURES.get(machine, machine)}",
    }
