"""Contents of a pod's volumes, as files by path: ConfigMaps, Secrets, downward API and projections."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from steersman.nodes.processes.fields import ContainerConfigError, field_text, resource_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.processes.environment import Sources


class TokenProjection(NamedTuple):
    """A projected token of the pod's service account."""

    audience: str = ""
    expiration_seconds: int = 3600


def token_projections(volume: Tree) -> list[TokenProjection]:
    """Return the token projections of a volume."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    return [_token(each["serviceAccountToken"]) for each in sources if each.get("serviceAccountToken")]


def _token(source: Tree) -> TokenProjection:
    return TokenProjection(source.get("audience") or "", source.get("expirationSeconds") or 3600)


def is_directory(volume: Tree) -> bool:
    """True for a volume that is initially empty and writable."""
    return "emptyDir" in volume or "ephemeral" in volume


def volume_files(volume: Tree, sources: Sources, token: Callable[[TokenProjection], str]) -> dict[str, bytes]:
    """Return the files of a volume. Raises ``ContainerConfigError``, also for an unsupported type of volume."""
    for kind in ("configMap", "secret", "downwardAPI"):
        if volume.get(kind) is not None:
            name = "secretName" if kind == "secret" else "name"
            return dict(_source(kind, {**volume[kind], "name": volume[kind].get(name, "")}, sources))
    if volume.get("projected") is None:
        raise ContainerConfigError(f"volume {volume.get('name', '')} is of a kind that process pods cannot have")
    found: dict[str, bytes] = {}
    for source in volume["projected"].get("sources") or ():
        if source.get("serviceAccountToken"):
            projection = source["serviceAccountToken"]
            found[projection["path"]] = token(_token(projection)).encode()
        for kind in ("configMap", "secret", "downwardAPI"):
            if source.get(kind) is not None:
                found.update(_source(kind, source[kind], sources))
    return found


def _source(kind: str, source: Tree, sources: Sources) -> Iterator[tuple[str, bytes]]:
    if kind == "downwardAPI":
        yield from _fields(source, sources)
        return
    name = source.get("name", "")
    data = (sources.config_map if kind == "configMap" else sources.secret)(name)
    optional = source.get("optional")
    if data is None:
        if optional:
            return
        raise ContainerConfigError(f'{kind.lower()} "{name}" not found')
    yield from _items(data, source, name)


def _items(data: Mapping[str, bytes], source: Tree, name: str) -> Iterator[tuple[str, bytes]]:
    if not source.get("items"):
        yield from data.items()
        return
    for item in source["items"]:
        if item["key"] in data:
            yield item["path"], data[item["key"]]
        elif not source.get("optional"):
            raise ContainerConfigError(f"references non-existent config key: {item['key']} of {name}")


def _fields(source: Tree, sources: Sources) -> Iterator[tuple[str, bytes]]:
    for item in source.get("items") or ():
        if item.get("fieldRef"):
            text = field_text(sources.pod, item["fieldRef"].get("fieldPath", ""))
        else:
            text = resource_text(sources.pod, sources.node, item.get("resourceFieldRef") or {}, container="")
        yield item["path"], text.encode()
