"""``ResourceUsage`` and ``ClusterResourceUsage`` of KWOK: resource usage of simulated containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from steersman.apimachinery import quantity
from steersman.apimachinery.timestamps import parse_time
from steersman.cel.values import NANOS
from steersman.nodes.kwok.format import Metadata, Part
from steersman.nodes.kwok.usage_expressions import Expressions, UsageError, as_number
from steersman.nodes.node_object import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from random import Random

    from steersman.apimachinery.trees import Tree

    Value = Callable[..., float]

RESOURCE_USAGE: Final = "ResourceUsage"


class UsageValue(Part):
    """A quantity, or a CEL expression."""

    value: str | int | float | None = None
    expression: str | None = None


class ContainerUsage(Part):
    """Usage of the named containers, or of all without names."""

    containers: list[str] = []
    usage: dict[str, UsageValue] = {}


class ObjectSelector(Part):
    """Pods by namespace and name; an empty list selects all."""

    match_namespaces: list[str] = []
    match_names: list[str] = []


class UsageSpec(Part):
    """The spec of both kinds; ``selector`` is only for ``ClusterResourceUsage``."""

    selector: ObjectSelector | None = None
    usages: list[ContainerUsage] = []


class UsageMetadata(Metadata):
    """Name and namespace of a usage document."""

    namespace: str = "default"


class UsageFormat(msgspec.Struct, kw_only=True, rename="camel"):
    """A ResourceUsage or ClusterResourceUsage document."""

    api_version: str
    kind: str
    metadata: UsageMetadata
    spec: UsageSpec


class _Rule(NamedTuple):
    selects: Callable[[Tree], bool]
    containers: Sequence[tuple[frozenset[str], Mapping[str, Value]]]


class Usages:
    """Usage of containers, pods and nodes. Pure, except for ``Rand()`` in expressions."""

    def __init__(self, documents: Sequence[Any], *, dice: Random) -> None:
        """Raise TemplateError."""
        expressions = Expressions(dice=dice)
        self._own: list[_Rule] = []
        self._cluster: list[_Rule] = []
        for document in documents:
            try:
                convert = msgspec.convert(document, UsageFormat)
            except msgspec.ValidationError as error:
                raise TemplateError(str(error)) from None
            target = self._own if convert.kind == RESOURCE_USAGE else self._cluster
            target.append(_rule(convert, expressions))

    def of_container(self, pod: Tree, container: str, resource: str, *, node: Tree | None, now: datetime) -> float:
        """Return the usage in cores or bytes; 0 for containers that do not run or have no rule. Raises UsageError.

        A ``ResourceUsage`` of the pod precedes any ``ClusterResourceUsage``; the first rule that selects the container
        applies.
        """
        if _running_since(pod, container) is None:
            return 0.0
        spec: Tree = next(
            (container_spec for container_spec in pod["spec"]["containers"] if container_spec["name"] == container), {}
        )
        for rule in (*self._own, *self._cluster):
            if not rule.selects(pod):
                continue
            for names, values in rule.containers:
                if (not names or container in names) and resource in values:
                    return values[resource](now, pod=pod, node=node, container=spec)
        return 0.0

    def of_pod(self, pod: Tree, resource: str, *, node: Tree | None, now: datetime) -> float:
        """Return the usage of all containers of a pod."""
        names = [container["name"] for container in pod["spec"].get("containers") or ()]
        return sum(self.of_container(pod, name, resource, node=node, now=now) for name in names)

    def cumulative(self, pod: Tree, container: str, resource: str, *, node: Tree | None, now: datetime) -> float:
        """Return the current usage multiplied by the run time of the container."""
        since = _running_since(pod, container)
        if since is None:
            return 0.0
        elapsed = max(0.0, (now - since).total_seconds())
        return elapsed * self.of_container(pod, container, resource, node=node, now=now)


def _running_since(pod: Tree, container: str) -> datetime | None:
    for container_status in (pod.get("status") or {}).get("containerStatuses") or ():
        since = ((container_status.get("state") or {}).get("running") or {}).get("startedAt")
        if container_status.get("name") == container and since:
            return parse_time(since)
    return None


def _rule(usage_format: UsageFormat, expressions: Expressions) -> _Rule:
    containers = [
        (frozenset(usage.containers), {name: _value(name, value, expressions) for name, value in usage.usage.items()})
        for usage in usage_format.spec.usages
    ]
    if usage_format.kind == RESOURCE_USAGE:
        if usage_format.spec.selector is not None:
            raise TemplateError("spec.selector: is not a field of ResourceUsage")
        key = (usage_format.metadata.namespace, usage_format.metadata.name)
        return _Rule(lambda pod: (pod["metadata"].get("namespace"), pod["metadata"]["name"]) == key, containers)
    selector = usage_format.spec.selector or ObjectSelector()

    def selects(pod: Tree) -> bool:
        metadata = pod["metadata"]
        return (not selector.match_namespaces or metadata.get("namespace") in selector.match_namespaces) and (
            not selector.match_names or metadata["name"] in selector.match_names
        )

    return _Rule(selects, containers)


def _value(name: str, value: UsageValue, expressions: Expressions) -> Value:
    if (value.value is None) is (value.expression is None):
        raise TemplateError(f"usage.{name}: exactly one of value and expression must be set")
    if value.expression is not None:
        evaluate = expressions.compile(value.expression)
        return lambda now, **variables: _at_least_zero(as_number(evaluate(now, **variables)))
    try:
        amount = quantity.parse(str(value.value)).nanos / NANOS
    except ValueError as error:
        raise TemplateError(f"usage.{name}.value: {value.value!r}: {error}") from None
    return lambda _now, **_variables: amount


def _at_least_zero(amount: float) -> float:
    if amount < 0:
        raise UsageError(f"usage cannot be negative: {amount}")
    return amount
