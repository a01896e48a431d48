"""Versions of this process."""

from __future__ import annotations

import platform

from steersman.apimachinery.zpages import Build
from steersman.version import KUBERNETES_VERSION, __version__


def build() -> Build:
    """Return the versions of this process."""
    version = KUBERNETES_VERSION.removeprefix("v")
    return Build(
        f"{platform.python_implementation()} {platform.python_version()}",
        f"{version} (steersman {__version__})",
        ".".join(version.split(".")[:2]),
    )
