"""Kubeconfig files of control planes; ``kubeconfig_merge`` adds entries to the user's own."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.controlplane.files import write_private

if TYPE_CHECKING:
    from steersman.controlplane.pki import KeyPair


class KubeconfigError(ValueError):
    """The user's kubeconfig cannot be read; it is not changed."""


class Access(msgspec.Struct, frozen=True):
    """Address and credentials of a cluster."""

    #: Name of cluster, user and context.
    name: str
    server: str
    ca: Path
    client: KeyPair

    def entries(self) -> dict[str, dict[str, Any]]:
        """Return one entry per section, self-contained: it needs no other files."""
        return {
            "clusters": {
                "name": self.name,
                "cluster": {"certificate-authority-data": _data(self.ca), "server": self.server},
            },
            "users": {
                "name": self.name,
                "user": {
                    "client-certificate-data": _data(self.client.certificate),
                    "client-key-data": _data(self.client.key),
                },
            },
            "contexts": {"name": self.name, "context": {"cluster": self.name, "user": self.name}},
        }


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def write_kubeconfig(path: Path, access: Access) -> None:
    """Write a kubeconfig with this cluster only."""
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "Config"}
    config |= {section: [entry] for section, entry in access.entries().items()}
    config |= {"current-context": access.name, "preferences": {}}
    # JSON is YAML, and needs no YAML library.
    write_private(path, msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n")


def user_kubeconfig() -> Path:
    """Return the file that kubectl writes.

    That is the first existing of ``$KUBECONFIG``, else its last, else ``~/.kube/config``.
    """
    listed = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not listed:
        return Path.home() / ".kube" / "config"
    return next((path for path in listed if path.exists()), listed[-1])
