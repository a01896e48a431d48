"""Kubeconfig files: our own, and our entries in the user's, which keeps everybody else's as they are."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.controlplane.files import write_private

if TYPE_CHECKING:
    from steersman.controlplane.pki import KeyPair

_SECTIONS: Final = ("clusters", "users", "contexts")


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


def merge_kubeconfig(path: Path, access: Access) -> None:
    """Put cluster, user and context into the file, replace older ones of the same name, and make the context current.

    Links are followed, other entries kept. Raises ``KubeconfigError``.
    """
    import yaml  # noqa: PLC0415 — only this needs it at start

    target = path.resolve()
    config: Any = {}
    if target.exists():
        try:
            config = yaml.safe_load(target.read_text(encoding="utf-8")) or {}
        except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
            raise KubeconfigError(f"{path} cannot be read, nothing was changed in it: {error}") from error
    if not isinstance(config, dict) or not all(isinstance(config.get(s) or [], list) for s in _SECTIONS):
        raise KubeconfigError(f"{path} is no kubeconfig, nothing was changed in it")
    config.setdefault("apiVersion", "v1")
    config.setdefault("kind", "Config")
    for section, entry in access.entries().items():
        others = [e for e in config.get(section) or [] if not (isinstance(e, dict) and e.get("name") == access.name)]
        config[section] = [*others, entry]
    config["current-context"] = access.name
    write_private(target, yaml.safe_dump(config, sort_keys=False).encode())
