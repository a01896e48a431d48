"""Versions of this process."""

from __future__ import annotations

import platform

from steersman.runtime.build import build
from steersman.version import KUBERNETES_VERSION, __version__


def test_build_names_the_emulated_release() -> None:
    result = build()
    assert result.runtime.endswith(platform.python_version())
    assert result.binary == f"{KUBERNETES_VERSION.removeprefix('v')} (steersman {__version__})"
    assert f"v{result.emulation}." in KUBERNETES_VERSION
