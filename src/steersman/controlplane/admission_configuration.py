"""``--admission-control-config-file``: configuration of admission plugins by name (``AdmissionConfiguration``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.yaml_codec import decode_yaml
from steersman.controlplane.option_files import read_file
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from pathlib import Path

    from steersman.apimachinery.trees import Tree


_FLAG: Final = "--admission-control-config-file"
_API_VERSIONS: Final = ("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1", "apiserver.k8s.io/v1")


def read_admission_configuration(path: Path | None) -> dict[str, Tree]:
    """Return the configuration by plugin, inline or from its own file. Raises ``OptionError``."""
    if path is None:
        return {}
    tree = _read(path)
    if tree.get("kind") != "AdmissionConfiguration" or tree.get("apiVersion") not in _API_VERSIONS:
        raise OptionError(f"{_FLAG}: {path} holds no AdmissionConfiguration of {_API_VERSIONS[0]}")
    configurations: dict[str, Tree] = {}
    plugins = tree.get("plugins") or []
    if not isinstance(plugins, list) or not all(isinstance(plugin, dict) for plugin in plugins):
        raise OptionError(f"{_FLAG}: {path}: plugins must be a list of objects")
    for plugin in plugins:
        name = str(plugin.get("name") or "")
        inline = plugin.get("configuration")
        if inline is not None:
            if not isinstance(inline, dict):
                raise OptionError(f"{_FLAG}: {path}: the configuration of {name} must be an object")
            configurations[name] = inline
        elif plugin.get("path"):
            configurations[name] = _read(path.parent / str(plugin["path"]))
    return configurations


def _read(path: Path) -> Tree:
    try:
        tree = decode_yaml(read_file(_FLAG, path)).tree
    except DecodeError as error:
        raise OptionError(f"{_FLAG}: {path}: {error}") from error
    if not isinstance(tree, dict):
        raise OptionError(f"{_FLAG}: {path} holds no object")
    return tree
