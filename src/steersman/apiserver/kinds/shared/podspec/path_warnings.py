"""Warnings about overlapping paths of files in volumes. Upstream: ``warningsForOverlappingVirtualPaths``."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from steersman.apimachinery.trees import Tree

#: Path of a file, and the name of its source in volumes with several.
File: TypeAlias = tuple[str, str]


def path_warnings(volumes: Sequence[Tree]) -> Iterator[str]:
    """Yield warnings about overlapping paths in a Pod's volumes."""
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


def _projected(sources: Sequence[Tree], volume: str) -> Iterator[str]:
    """Yield warnings about the sources of a projected volume, which share one directory."""
    files = [[(path.rstrip("/"), source) for path, source in _files(projection)] for projection in sources]
    overlaps = _overlap_texts([file for group in files for file in group], volume)
    for source, group in zip(sources, files, strict=True):
        if not any(value is not None for value in source.values()):
            yield f"{volume} has no sources provided"
        for _ in group:
            yield from next(overlaps)


def _files(source: Tree) -> Iterable[File]:
    """Return the known files of a source and the source's name."""
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


def _overlaps(files: Iterable[File], volume: str) -> Iterator[str]:
    """Yield warnings about files equal to, inside or above an earlier one."""
    for texts in _overlap_texts([(path.rstrip("/"), source) for path, source in files], volume):
        yield from texts


def _overlap_texts(files: Sequence[File], volume: str) -> Iterator[Iterator[str]]:
    """Yield for each file the warnings about it and earlier files, in order.

    Files that occur more than twice are compared twice, as further comparisons find the same pairs.
    """
    count: Counter[File] = Counter()
    paths = []
    for file in files:
        count[file] += 1
        paths.append(file[0] if count[file] <= 2 else "")
    for file, others in zip(files, earlier_overlaps(paths), strict=True):
        yield (f"{volume}: overlapping paths: {_shown(file)} with {_shown(files[other])}" for other in others)


def earlier_overlaps(paths: Sequence[str]) -> Iterator[list[int]]:
    """Yield for each path the positions of earlier paths that equal, contain or lie below it. Empty paths have none.

    In sorted order, paths below a path follow it directly, and a stack holds the ancestors of the current path; the
    cost is that of sorting plus the number of overlaps.
    """
    order = sorted((position for position, path in enumerate(paths) if path), key=lambda index: f"{paths[index]}/")
    stack: list[_PathGroup] = []
    group_of: dict[int, _PathGroup] = {}
    for rank, position in enumerate(order):
        text = f"{paths[position]}/"
        while stack and not text.startswith(stack[-1].text):
            stack.pop().end = rank
        if not stack or stack[-1].text != text:
            stack.append(_PathGroup(text, stack[-1] if stack else None, rank))
        stack[-1].positions.append(position)
        group_of[position] = stack[-1]
    for group in stack:
        group.end = len(order)
    for position in range(len(paths)):
        own = group_of.get(position)
        yield [] if own is None else sorted(_earlier(own, position, order))


class _PathGroup:
    """Equal paths, and the sorted interval of paths equal to or below them."""

    def __init__(self, text: str, parent: _PathGroup | None, begin: int) -> None:
        self.text = text
        self.parent = parent
        self.begin = begin
        self.end = begin
        self.positions: list[int] = []


def _earlier(group: _PathGroup, position: int, order: Sequence[int]) -> Iterator[int]:
    yield from (candidate for candidate in order[group.begin : group.end] if candidate < position)
    containing = group.parent
    while containing is not None:
        yield from containing.positions[: bisect_left(containing.positions, position)]
        containing = containing.parent


def _shown(file: File) -> str:
    path, source = file
    return f"{quote(path)} ({source})" if source else quote(path)
