"""``/version``: which Kubernetes this is, in a form that clients parse."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from steersman.apiserver.discovery.produces import require_accepted
from steersman.apiserver.http import Response
from steersman.version import KUBERNETES_VERSION, __version__

if TYPE_CHECKING:
    from steersman.apiserver.http import Request

#: Machine names as clients know them from Go.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def version_document() -> dict[str, str]:
    """``version.Info``. ``gitVersion`` is semver with our own version as build metadata, so that comparisons ignore it."""
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
        # What the package was built from, and when, is not known at run time.
        "gitCommit": "unknown",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"{python}{'.'.join(map(str, sys.version_info[:3]))}",
        "compiler": python,
        "platform": f"{sys.platform}/{_ARCHITECTURES.get(machine, machine)}",
    }


class VersionEndpoint:
    """Keeps the answer, which never changes."""

    def __init__(self) -> None:
        self._body = msgspec.json.format(msgspec.json.encode(version_document()), indent=2)

    async def __call__(self, request: Request) -> Response:
        """The document; there is no form but JSON. Raises 406."""
        require_accepted(request, "application/json")
        return Response(200, self._body)
