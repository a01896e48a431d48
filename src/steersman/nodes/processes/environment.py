"""Variables of a container: what its spec says, over what this machine and the cluster give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.nodes.expansion import expand
from steersman.nodes.processes.fields import ConfigError, field_text, resource_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Tree = dict[str, Any]


class Sources(NamedTuple):
    """Where values come from."""

    pod: Tree
    node: Tree
    #: The keys of a ConfigMap, and of a Secret (decoded), by name; None: there is none.
    config_map: Callable[[str], Mapping[str, bytes] | None]
    secret: Callable[[str], Mapping[str, bytes] | None]


def container_environment(container: Tree, sources: Sources, given: Mapping[str, str]) -> dict[str, str]:
    """All variables; those of ``given`` are there before all others. Raises ``ConfigError``."""
    found = dict(given)
    for source in container.get("envFrom") or ():
        found.update(_all_of(source, sources))
    for variable in container.get("env") or ():
        name = variable["name"]
        if variable.get("valueFrom"):
            value = _value(variable["valueFrom"], sources, container["name"])
            if value is not None:
                found[name] = value
        else:
            found[name] = expand(variable.get("value") or "", found)
    return found


def command_line(container: Tree, variables: Mapping[str, str]) -> list[str]:
    """Command and arguments. Raises ``ConfigError`` for none: images are not run, so their entry points are unknown."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not container.get("command"):
        raise ConfigError(f"container {container['name']} has no command, and images are not run here")
    return [expand(word, variables) for word in words]


def _all_of(source: Tree, sources: Sources) -> Iterator[tuple[str, str]]:
    prefix = source.get("prefix") or ""
    for kind, field, find in (
        ("configmap", "configMapRef", sources.config_map),
        ("secret", "secretRef", sources.secret),
    ):
        reference = source.get(field)
        if not reference:
            continue
        data = find(reference.get("name", ""))
        if data is None and not reference.get("optional"):
            raise ConfigError(f'{kind} "{reference.get("name", "")}" not found')
        for key, value in (data or {}).items():
            yield prefix + key, value.decode(errors="replace")


def _value(source: Tree, sources: Sources, container: str) -> str | None:
    """None for a key that need not be there."""
    if source.get("fieldRef"):
        return field_text(sources.pod, source["fieldRef"].get("fieldPath", ""))
    if source.get("resourceFieldRef"):
        return resource_text(sources.pod, sources.node, source["resourceFieldRef"], container=container)
    for kind, field, find in (
        ("configmap", "configMapKeyRef", sources.config_map),
        ("secret", "secretKeyRef", sources.secret),
    ):
        reference = source.get(field)
        if reference:
            return _key(kind, reference, find(reference.get("name", "")), sources.pod)
    raise ConfigError("a variable has an unknown source")


def _key(kind: str, reference: Tree, data: Mapping[str, bytes] | None, pod: Tree) -> str | None:
    name, key = reference.get("name", ""), reference.get("key", "")
    if data is not None and key in data:
        return data[key].decode(errors="replace")
    if reference.get("optional"):
        return None
    if data is None:
        raise ConfigError(f'{kind} "{name}" not found')
    shown = {"configmap": "ConfigMap", "secret": "Secret"}[kind]
    raise ConfigError(f"couldn't find key {key} in {shown} {pod['metadata'].get('namespace', '')}/{name}")
