"""What lies in the volumes of a pod: files by their path, of ConfigMaps, Secrets, the downward API and projections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.nodes.processes.fields import ConfigError, field_text, resource_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from steersman.nodes.processes.environment import Sources

    Tree = dict[str, Any]


class TokenWanted(NamedTuple):
    """A token of the pod's service account."""

    audience: str = ""
    expiration_seconds: int = 3600


def tokens_wanted(volume: Tree) -> list[TokenWanted]:
    """The tokens that a volume holds."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    return [_token(each["serviceAccountToken"]) for each in sources if each.get("serviceAccountToken")]


def _token(source: Tree) -> TokenWanted:
    return TokenWanted(source.get("audience") or "", source.get("expirationSeconds") or 3600)


def is_directory(volume: Tree) -> bool:
    """Whether containers write into it, and it is empty at first."""
    return "emptyDir" in volume or "ephemeral" in volume


def volume_files(volume: Tree, sources: Sources, token: Callable[[TokenWanted], str]) -> dict[str, bytes]:
    """The files of a volume that is no directory. Raises ``ConfigError``, also for a kind that cannot be had here."""
    for kind in ("configMap", "secret", "downwardAPI"):
        if volume.get(kind) is not None:
            name = "secretName" if kind == "secret" else "name"
            return dict(_source(kind, {**volume[kind], "name": volume[kind].get(name, "")}, sources))
    if volume.get("projected") is None:
        raise ConfigError(f"volume {volume.get('name', '')} is of a kind that process pods cannot have")
    found: dict[str, bytes] = {}
    for source in volume["projected"].get("sources") or ():
        if source.get("serviceAccountToken"):
            wanted = source["serviceAccountToken"]
            found[wanted["path"]] = token(_token(wanted)).encode()
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
        raise ConfigError(f'{kind.lower()} "{name}" not found')
    yield from _items(data, source, name)


def _items(data: Mapping[str, bytes], source: Tree, name: str) -> Iterator[tuple[str, bytes]]:
    if not source.get("items"):
        yield from data.items()
        return
    for item in source["items"]:
        if item["key"] in data:
            yield item["path"], data[item["key"]]
        elif not source.get("optional"):
            raise ConfigError(f"references non-existent config key: {item['key']} of {name}")


def _fields(source: Tree, sources: Sources) -> Iterator[tuple[str, bytes]]:
    for item in source.get("items") or ():
        if item.get("fieldRef"):
            text = field_text(sources.pod, item["fieldRef"].get("fieldPath", ""))
        else:
            text = resource_text(sources.pod, sources.node, item.get("resourceFieldRef") or {}, container="")
        yield item["path"], text.encode()
