"""Manifests of a test: text, files and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from steersman.testing.errors import ClusterError

_SUFFIXES = (".yaml", ".yml", ".json")


#: Object or objects, YAML or JSON text, or the path of a file or a folder.
Manifests = Path | str | dict[str, Any] | list[dict[str, Any]]


def read_manifests(manifests: Manifests) -> list[dict[str, Any]]:
    """Return the objects of a manifest, a file, or the files of a folder by name; Lists are flattened. Text without a colon is
    a path. Raises ``ClusterError``.
    """
    if isinstance(manifests, dict | list):
        return _objects(manifests if isinstance(manifests, list) else [manifests], "the manifest")
    if isinstance(manifests, Path) or _is_path(manifests):
        return [document for path in _files(Path(manifests)) for document in _parse(path.read_text(), str(path))]
    return _parse(manifests, "the manifest")


def _is_path(text: str) -> bool:
    return "\n" not in text and ":" not in text and not text.lstrip().startswith("{")


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise ClusterError(f"there is no file or folder {path}")
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    return [path]


def _parse(text: str, origin: str) -> list[dict[str, Any]]:
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise ClusterError(f"{origin} is not YAML: {error}") from error
    return _objects(documents, origin)


def _objects(documents: list[Any], origin: str) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = []
    for document in documents:
        if not (isinstance(document, dict) and document.get("kind") and document.get("apiVersion")):
            raise ClusterError(f"{origin}: a document without apiVersion and kind")
        objects += document["items"] if document["kind"] == "List" else [document]
    return objects
