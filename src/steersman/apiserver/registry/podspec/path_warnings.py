"""Files of a volume that lie in each other's way: the same path twice, or one path inside another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from steersman.apiserver.registry.strategy import Tree


def path_warnings(volumes: Sequence[Tree]) -> Iterator[str]:
    """Warnings about the volumes of a pod."""
    for volume in volumes:
        name = quote(volume.get("name", ""))
        for kind, title, reference in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
            source = volume.get(kind)
            if source is not None and source.get("items") is not None:
                files = [(item.get("path", ""), "") for item in source["items"]]
                yield from _overlaps(files, f"volume {name} ({title} {quote(source.get(reference, ''))})")
        source = volume.get("downwardAPI")
        if source is not None and source.get("items") is not None:
            files = [(item.get("path", ""), "") for item in source["items"]]
            yield from _overlaps(files, f"volume {name} (DownwardAPI)")
        projected = volume.get("projected")
        if projected is not None:
            yield from _projected(projected.get("sources") or (), f"volume {name} (Projected)")


def _projected(sources: Iterable[Tree], where: str) -> Iterator[str]:
    """The sources of a projected volume share one directory."""
    seen: list[tuple[str, str]] = []
    for source in sources:
        if not any(value is not None for value in source.values()):
            yield f"{where} has no sources provided"
        yield from _overlaps(_files(source), where, seen)


def _files(source: Tree) -> Iterable[tuple[str, str]]:
    """The files of one source of a projected volume as far as they are known, and what it is called."""
    for kind, title in (("configMap", "ConfigMap"), ("secret", "Secret")):
        part = source.get(kind)
        if part is not None and part.get("items") is not None:
            return [(item.get("path", ""), f"{title} {quote(part.get('name', ''))}") for item in part["items"]]
    part = source.get("downwardAPI")
    if part is not None and part.get("items") is not None:
        return [(item.get("path", ""), "DownwardAPI") for item in part["items"]]
    part = source.get("serviceAccountToken")
    if part is not None:
        return [(part.get("path", ""), "ServiceAccountToken")]
    return ()


def _overlaps(
    files: Iterable[tuple[str, str]], where: str, before: list[tuple[str, str]] | None = None
) -> Iterator[str]:
    """Files against those ``before``, which they join."""
    seen = [] if before is None else before
    for path, source in files:
        file = (path.rstrip("/"), source)
        for other in seen:
            if file[0] and other[0] and _contain(file[0], other[0]):
                yield f"{where}: overlapping paths: {_shown(file)} with {_shown(other)}"
        seen.append(file)


def _contain(path: str, other: str) -> bool:
    return path == other or f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


def _shown(file: tuple[str, str]) -> str:
    path, source = file
    return f"{quote(path)} ({source})" if source else quote(path)
