"""Kubeconfig files of control planes; ``kubeconfig_merge`` puts the entries into the user's own."""

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
    """The user's kubeconfig cannot be read, so it is left as it is."""


class Access(msgspec.Struct, frozen=True):
    """How to reach a cluster, and as whom."""

    #: Of cluster, user and context alike.
    name: str
    server: str
    ca: Path
    client: KeyPair

    def entries(self) -> dict[str, dict[str, Any]]:
        """Our entry in each section, whole in itself: files may go, the kubeconfig works on."""
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
    """A kubeconfig with this one cluster."""
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "Config"}
    config |= {section: [entry] for section, entry in access.entries().items()}
    config |= {"current-context": access.name, "preferences": {}}
    # JSON is YAML, and writing it loads nothing.
    write_private(path, msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n")


def user_kubeconfig() -> Path:
    """The file that kubectl writes to: the first of ``$KUBECONFIG`` that exists, else its last, else ``~/.kube/config``."""
    listed = [Path(part) for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if not listed:
        return Path.home() / ".kube" / "config"
    return next((path for path in listed if path.exists()), listed[-1])
