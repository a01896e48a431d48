"""Environment variables and command line of a container, from its spec, the cluster and this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from steersman.nodes.expansion import expand
from steersman.nodes.processes.fields import ContainerConfigError, field_text, resource_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from steersman.apimachinery.trees import Tree


class Sources(NamedTuple):
    """Sources of values for variables and volumes."""

    pod: Tree
    node: Tree
    #: Return the data of a ConfigMap or Secret (decoded) by name; None: it does not exist.
    config_map: Callable[[str], Mapping[str, bytes] | None]
    secret: Callable[[str], Mapping[str, bytes] | None]


def container_environment(container: Tree, sources: Sources, base: Mapping[str, str]) -> dict[str, str]:
    """Return all variables; ``base`` has the lowest precedence. Raises ``ContainerConfigError``."""
    variables = dict(base)
    for source in container.get("envFrom") or ():
        variables.update(_env_from(source, sources))
    for variable in container.get("env") or ():
        name = variable["name"]
        if variable.get("valueFrom"):
            value = _value(variable["valueFrom"], sources, container["name"])
            if value is not None:
                variables[name] = value
        else:
            variables[name] = expand(variable.get("value") or "", variables)
    return variables


def command_line(container: Tree, variables: Mapping[str, str]) -> list[str]:
    """Return command and arguments. Raises ``ContainerConfigError`` without a command: images and their entry points
    are not used.
    """
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    if not container.get("command"):
        raise ContainerConfigError(f"container {container['name']} has no command, and images are not run here")
    return [expand(word, variables) for word in words]


def _env_from(source: Tree, sources: Sources) -> Iterator[tuple[str, str]]:
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
            raise ContainerConfigError(f'{kind} "{reference.get("name", "")}" not found')
        for key, value in (data or {}).items():
            yield prefix + key, value.decode(errors="replace")


def _value(source: Tree, sources: Sources, container: str) -> str | None:
    """Return the value of a source; None for a missing optional key."""
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
    raise ContainerConfigError("a variable has an unknown source")


def _key(kind: str, reference: Tree, data: Mapping[str, bytes] | None, pod: Tree) -> str | None:
    name, key = reference.get("name", ""), reference.get("key", "")
    if data is not None and key in data:
        return data[key].decode(errors="replace")
    if reference.get("optional"):
        return None
    if data is None:
        raise ContainerConfigError(f'{kind} "{name}" not found')
    kind_name = {"configmap": "ConfigMap", "secret": "Secret"}[kind]
    raise ContainerConfigError(f"couldn't find key {key} in {kind_name} {pod['metadata'].get('namespace', '')}/{name}")
