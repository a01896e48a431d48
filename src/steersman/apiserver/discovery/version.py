"""``/version``: the Kubernetes version, as clients parse it."""

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


class VersionEndpoint:
    """Endpoint with a constant document."""

    def __init__(self) -> None:
        self._body = msgspec.json.format(msgspec.json.encode(version_document()), indent=2)

    async def __call__(self, request: Request) -> Response:
        """Serve the document as JSON. Raises 406."""
        require_accepted(request, "application/json")
        return Response(200, self._body)
