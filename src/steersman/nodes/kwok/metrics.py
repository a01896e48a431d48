"""``Metric`` of KWOK: pages in the Prometheus text format about one node, its pods and their containers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec

from steersman.nodes.kwok.format import Metadata, Part
from steersman.nodes.kwok.usage_expressions import Expressions, UsageError, as_number
from steersman.nodes.node_object import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from random import Random

    from steersman.apimachinery.trees import Tree
    from steersman.nodes.kwok.usage import Usages


METRIC: Final = "Metric"
_NODE_NAME: Final = "{nodeName}"
_PREFIX: Final = "/metrics"


class Label(Part, kw_only=True):
    """A label; its value is a CEL expression."""

    name: str
    value: str


class Bucket(Part, kw_only=True):
    """A histogram bucket; its value is a CEL expression."""

    le: float
    value: str
    hidden: bool = False


class MetricConfig(Part, kw_only=True):
    """One metric family."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    dimension: Literal["node", "pod", "container"] = "node"
    help: str = ""
    labels: list[Label] = []
    value: str = ""
    buckets: list[Bucket] = []


class MetricSpec(Part, kw_only=True):
    """A page of metrics."""

    path: str
    metrics: list[MetricConfig]


class MetricFormat(msgspec.Struct, kw_only=True, rename="camel"):
    """A Metric document."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: MetricSpec


class _Family(NamedTuple):
    config: MetricConfig
    #: The metric's name in the text format.
    name: str
    value: Callable[..., Any] | None
    labels: Sequence[tuple[str, Callable[..., Any]]]
    buckets: Sequence[tuple[Bucket, Callable[..., Any]]]


class MetricPages:
    """The pages of all ``Metric`` documents."""

    def __init__(self, documents: Sequence[Any], usages: Usages, *, dice: Random) -> None:
        """Raise TemplateError."""
        self._usages = usages
        self._scrape = _Scrape({}, [], None)
        expressions = Expressions(dice=dice, usage=self._usage, cumulative=self._cumulative)
        self._pages = [_page(document, expressions) for document in documents]

    def node_of(self, path: str) -> str | None:
        """Return the node of a path; None if no page matches."""
        for pattern, _ in self._pages:
            if match := pattern.fullmatch(path):
                return str(match["node"])
        return None

    def render(self, path: str, node: Tree, pods: Iterable[Tree], *, now: datetime) -> str:
        """Return the text of a page. Samples whose expressions have no value are omitted."""
        self._scrape = _Scrape(node, list(pods), now)
        lines: list[str] = []
        described: set[str] = set()
        for pattern, families in self._pages:
            if pattern.fullmatch(path):
                for family in families:
                    if family.name not in described:
                        described.add(family.name)
                        text = family.config.help.strip().replace("\\", "\\\\").replace("\n", "\\n")
                        if text:
                            lines.append(f"# HELP {family.name} {text}")
                        lines.append(f"# TYPE {family.name} {family.config.kind}")
                    lines += self._samples(family)
        return "\n".join(lines) + "\n"

    def _samples(self, family: _Family) -> Iterator[str]:
        for variables in self._scrape.targets(family.config.dimension):
            try:
                yield from _sample(family, self._scrape.now, variables)
            except UsageError:
                continue

    # Functions of expressions

    def _usage(self, obj: Tree, resource: str, container: str) -> float:
        return self._total(obj, container, lambda pod, name: self._usages.of_container(
            pod, name, resource, node=self._scrape.node, now=self._moment()
        ))  # fmt: skip

    def _cumulative(self, obj: Tree, resource: str, container: str) -> float:
        return self._total(obj, container, lambda pod, name: self._usages.cumulative(
            pod, name, resource, node=self._scrape.node, now=self._moment()
        ))  # fmt: skip

    def _moment(self) -> datetime:
        assert self._scrape.now is not None
        return self._scrape.now

    def _total(self, obj: Tree, container: str, amount: Callable[[Tree, str], float]) -> float:
        """Return the sum over the containers of a pod, or of all pods of a node."""
        spec = obj.get("spec") or {}
        if "containers" not in spec:
            pods = self._scrape.pods
        else:
            uid = obj["metadata"].get("uid")
            pods = [pod for pod in self._scrape.pods if pod["metadata"].get("uid") == uid]
        total = 0.0
        for pod in pods:
            names = (
                [container] if container else [container["name"] for container in pod["spec"].get("containers") or ()]
            )
            total += sum(amount(pod, name) for name in names)
        return total


class _Scrape(NamedTuple):
    """Node, pods and time of one page."""

    node: Tree
    pods: list[Tree]
    now: datetime | None

    def targets(self, dimension: str) -> Iterator[Mapping[str, Tree]]:
        """Yield the variables of each sample."""
        if dimension == "node":
            yield {"node": self.node}
            return
        for pod in self.pods:
            if dimension == "pod":
                yield {"node": self.node, "pod": pod}
                continue
            for container in pod["spec"].get("containers") or ():
                yield {"node": self.node, "pod": pod, "container": container}


def _page(document: Any, expressions: Expressions) -> tuple[re.Pattern[str], list[_Family]]:
    try:
        spec = msgspec.convert(document, MetricFormat).spec
    except msgspec.ValidationError as error:
        raise TemplateError(str(error)) from None
    if not spec.path.startswith(_PREFIX) or spec.path.count(_NODE_NAME) != 1:
        raise TemplateError(f"spec.path: {spec.path!r} must begin with {_PREFIX} and contain {_NODE_NAME} once")
    pattern = re.escape(spec.path).replace(re.escape(_NODE_NAME), "(?P<node>[^/]+)")
    return re.compile(pattern), [_family(metric, expressions) for metric in spec.metrics]


def _family(config: MetricConfig, expressions: Expressions) -> _Family:
    if (config.kind == "histogram") is not bool(config.buckets) or bool(config.buckets) is bool(config.value):
        raise TemplateError(f"metric {config.name}: a histogram has buckets, other kinds have a value")
    try:
        return _Family(
            config,
            _legacy_name(config.name),
            expressions.compile(config.value) if config.value else None,
            [(_legacy_name(label.name), expressions.compile(label.value)) for label in config.labels],
            [
                (bucket, expressions.compile(bucket.value))
                for bucket in sorted(config.buckets, key=lambda bucket_: bucket_.le)
            ],
        )
    except TemplateError as error:
        raise TemplateError(f"metric {config.name}: {error}") from None


def _legacy_name(name: str) -> str:
    """Replace characters that the text format does not allow in names, e.g. the dots of OpenTelemetry's names.

    Upstream: ``UnderscoreEscaping`` in prometheus/common/model/metric.go, for clients that do not negotiate UTF-8
    names.
    """
    return re.sub(r"^[0-9]|[^a-zA-Z0-9_:]", "_", name)


def _sample(family: _Family, now: Any, variables: Mapping[str, Tree]) -> Iterator[str]:
    name = family.name
    labels = [f'{key}="{_escaped(evaluate(now, **variables))}"' for key, evaluate in family.labels]
    if family.value is not None:
        yield f"{name}{_braces(labels)} {_number(as_number(family.value(now, **variables)))}"
        return
    count, total = 0.0, 0.0
    for bucket, evaluate in family.buckets:
        amount = as_number(evaluate(now, **variables))
        count, total = count + amount, total + amount * bucket.le
        if not bucket.hidden:
            yield _bucket(name, labels, _number(bucket.le), count)
    yield _bucket(name, labels, "+Inf", count)
    yield f"{name}_sum{_braces(labels)} {_number(total)}"
    yield f"{name}_count{_braces(labels)} {_number(count)}"


def _bucket(name: str, labels: Sequence[str], bound: str, count: float) -> str:
    bounded = _braces([*labels, f'le="{bound}"'])
    return f"{name}_bucket{bounded} {_number(count)}"


def _braces(labels: Sequence[str]) -> str:
    return f"{{{','.join(labels)}}}" if labels else ""


def _escaped(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
