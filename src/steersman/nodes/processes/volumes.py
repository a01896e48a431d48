"""Contents of a pod's volumes: files of ConfigMaps, Secrets, downward API and projections, and paths of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.apimachinery.gotext import errno_text
from steersman.nodes.processes.fields import ContainerConfigError, field_text, resource_text
from steersman.nodes.processes.files import VolumeFile
from steersman.nodes.references import missing_file_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.processes.environment import Sources

_KINDS: Final = ("configMap", "secret", "downwardAPI")
#: Mode of files without ``defaultMode``.
DEFAULT_MODE: Final = 0o644
_HOST_PATH_TYPES: Final = {
    "Directory": Path.is_dir,
    "DirectoryOrCreate": Path.is_dir,
    "File": Path.is_file,
    "FileOrCreate": Path.is_file,
    "Socket": Path.is_socket,
    "CharDevice": Path.is_char_device,
    "BlockDevice": Path.is_block_device,
}
_HOST_PATH_NAMES: Final = {
    "Directory": "directory",
    "DirectoryOrCreate": "directory",
    "File": "file",
    "FileOrCreate": "file",
    "Socket": "socket file",
    "CharDevice": "character device",
    "BlockDevice": "block device",
}


class TokenProjection(NamedTuple):
    """A projected token of the pod's service account."""

    audience: str = ""
    expiration_seconds: int = 3600


def token_projections(volume: Tree) -> list[TokenProjection]:
    """Return the token projections of a volume."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    return [_token(source["serviceAccountToken"]) for source in sources if source.get("serviceAccountToken")]


def _token(source: Tree) -> TokenProjection:
    return TokenProjection(source.get("audience") or "", source.get("expirationSeconds") or 3600)


def is_directory(volume: Tree) -> bool:
    """True for a volume that is initially empty and writable."""
    return "emptyDir" in volume or "ephemeral" in volume


def volume_files(volume: Tree, sources: Sources, token: Callable[[TokenProjection], str]) -> dict[str, VolumeFile]:
    """Return the files of a volume. Raises ``ContainerConfigError``, also for an unsupported type of volume."""
    for kind in _KINDS:
        if volume.get(kind) is not None:
            name = "secretName" if kind == "secret" else "name"
            source = {**volume[kind], "name": volume[kind].get(name, "")}
            return dict(_source(kind, source, sources, mode=_mode(source, DEFAULT_MODE)))
    if volume.get("projected") is None:
        raise ContainerConfigError(f"volume {volume.get('name', '')} is of a kind that process pods cannot have")
    files: dict[str, VolumeFile] = {}
    mode = _mode(volume["projected"], DEFAULT_MODE)
    for source in volume["projected"].get("sources") or ():
        if source.get("serviceAccountToken"):
            projection = source["serviceAccountToken"]
            files[projection["path"]] = VolumeFile(token(_token(projection)).encode(), mode)
        for kind in _KINDS:
            if source.get(kind) is not None:
                files.update(_source(kind, source[kind], sources, mode=mode))
    return files


def is_read_only(volume: Tree) -> bool:
    """True for a volume whose files only the kubelet writes."""
    return any(volume.get(kind) is not None for kind in (*_KINDS, "projected"))


def host_path(volume: Tree) -> Path:
    """Return the path of a ``hostPath`` volume, created if its type requires it. Raises ``ContainerConfigError``."""
    source = volume["hostPath"]
    path, kind = Path(source["path"]), source.get("type") or ""
    try:
        if kind == "DirectoryOrCreate":
            path.mkdir(parents=True, exist_ok=True, mode=0o755)
        elif kind == "FileOrCreate":
            path.touch(mode=0o644)
    except OSError as error:
        raise ContainerConfigError(f"hostPath {path}: {errno_text(error)}") from error
    if kind and not _HOST_PATH_TYPES[kind](path):
        raise ContainerConfigError(f"hostPath type check failed: {path} is not a {_HOST_PATH_NAMES[kind]}")
    if not path.exists():
        raise ContainerConfigError(f"hostPath {path}: no such file or directory")
    return path


def _mode(fields: Tree, default: int, name: str = "defaultMode") -> int:
    mode = fields.get(name)
    return default if mode is None else int(mode)


def _source(kind: str, source: Tree, sources: Sources, *, mode: int) -> Iterator[tuple[str, VolumeFile]]:
    if kind == "downwardAPI":
        yield from _fields(source, sources, mode)
        return
    name = source.get("name", "")
    data = (sources.config_map if kind == "configMap" else sources.secret)(name)
    if data is not None:
        yield from _items(data, source, "Secret" if kind == "secret" else "ConfigMap", mode)
    elif not source.get("optional"):
        raise ContainerConfigError(f'{kind.lower()} "{name}" not found')


def _items(data: Mapping[str, bytes], source: Tree, kind: str, mode: int) -> Iterator[tuple[str, VolumeFile]]:
    if not source.get("items"):
        yield from ((key, VolumeFile(value, mode)) for key, value in data.items())
        return
    for item in source["items"]:
        if item["key"] in data:
            yield item["path"], VolumeFile(data[item["key"]], _mode(item, mode, "mode"))
        elif not source.get("optional"):
            raise ContainerConfigError(missing_file_error(kind, item["key"]))


def _fields(source: Tree, sources: Sources, mode: int) -> Iterator[tuple[str, VolumeFile]]:
    for item in source.get("items") or ():
        if item.get("fieldRef"):
            text = field_text(sources.pod, item["fieldRef"].get("fieldPath", ""))
        else:
            text = resource_text(sources.pod, sources.node, item.get("resourceFieldRef") or {}, container="")
        yield item["path"], VolumeFile(text.encode(), _mode(item, mode, "mode"))
