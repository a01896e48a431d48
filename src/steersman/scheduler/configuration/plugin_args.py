"""Plugin arguments (``pluginConfig``): defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.durations import parse_duration
from steersman.apimachinery.names import check_qualified_name
from steersman.apimachinery.selectors import SelectorError, requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree


#: Maximum score in a shape.
SHAPE_SCORE_MAX: Final = 10
_STRATEGIES: Final = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_CPU_AND_MEMORY: Final = ({"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1})
_RATIO: Final = "requestedToCapacityRatio"
_SPREAD_TYPES: Final = ("System", "List")
_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")
_LABEL_OPERATORS: Final = {
    "DoesNotExist": "!", "Exists": "exists", "Gt": "gt", "In": "in", "Lt": "lt", "NotIn": "notin",
}  # fmt: skip
_FIELD_OPERATORS: Final = ("In", "NotIn")
_BINDING_SECONDS_MIN: Final = 1.0

_DEFAULTS: Final[dict[str, Tree]] = {
    "DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
    "DynamicResources": {"filterTimeout": "10s", "bindingTimeout": "600s"},
    "InterPodAffinity": {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": False},
    "NodeAffinity": {},
    "NodeResourcesBalancedAllocation": {"resources": _CPU_AND_MEMORY},
    "NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": _CPU_AND_MEMORY}},
    "PodTopologySpread": {"defaultingType": "System"},
    "VolumeBinding": {"bindTimeoutSeconds": 600},
}
WITH_ARGS: Final = frozenset(_DEFAULTS)


def default_args() -> dict[str, Tree]:
    """Return the default arguments of all plugins."""
    return dict(_DEFAULTS)


def with_defaults(name: str, args: Tree) -> Tree:
    """Return a plugin's arguments completed with defaults."""
    completed = {**_DEFAULTS[name], **args}
    if name == "NodeResourcesFit":
        strategy = completed["scoringStrategy"]
        completed["scoringStrategy"] = {**strategy, "resources": _weighted(strategy.get("resources"))}
    elif name == "NodeResourcesBalancedAllocation":
        completed["resources"] = _weighted(completed["resources"])
    return completed


def _weighted(resources: Sequence[Tree] | None) -> Sequence[Tree]:
    return [{**resource, "weight": resource.get("weight") or 1} for resource in resources or _CPU_AND_MEMORY]


def check_args(name: str, args: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a plugin's arguments, which have their defaults."""
    yield from _CHECKS[name](args, path)


def _check_preemption(args: Tree, path: Path) -> Iterator[FieldError]:
    share, least = args["minCandidateNodesPercentage"], args["minCandidateNodesAbsolute"]
    share_path, least_path = path.child("minCandidateNodesPercentage"), path.child("minCandidateNodesAbsolute")
    if not 0 <= share <= 100:
        yield field.invalid(share_path, share, "not in valid range [0, 100]")
    if least < 0:
        yield field.invalid(least_path, least, "not in valid range [0, inf)")
    if share == least == 0:
        text = "cannot be zero at the same time as {}"
        yield field.invalid(share_path, share, text.format("minCandidateNodesAbsolute"))
        yield field.invalid(least_path, least, text.format("minCandidateNodesPercentage"))


def _check_devices(args: Tree, path: Path) -> Iterator[FieldError]:
    for name, least, text in (
        ("filterTimeout", 0.0, "must be zero or positive"),
        ("bindingTimeout", _BINDING_SECONDS_MIN, "must be at least 1 second"),
    ):
        seconds, fault = seconds_of(args[name])
        if fault or seconds < least:
            yield field.invalid(path.child(name), args[name], fault or text)


def seconds_of(text: str) -> tuple[float, str]:
    """Return a duration in seconds and an error message, empty if it is valid."""
    try:
        return parse_duration(text), ""
    except ValueError as error:
        return 0.0, str(error)


def _check_affinity_weight(args: Tree, path: Path) -> Iterator[FieldError]:
    weight = args["hardPodAffinityWeight"]
    if not 0 <= weight <= 100:
        yield field.invalid(path.child("hardPodAffinityWeight"), weight, "not in valid range [0, 100]")


def _check_added_affinity(args: Tree, path: Path) -> Iterator[FieldError]:
    affinity, affinity_path = args.get("addedAffinity") or {}, path.child("addedAffinity")
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    required = affinity.get(name)
    if required is not None:
        terms = required.get("nodeSelectorTerms") or ()
        if not terms:
            yield field.required(
                affinity_path.child(name, "nodeSelectorTerms"), "must have at least one node selector term"
            )
        for number, term in enumerate(terms):
            yield from _check_term(term, affinity_path.child(name, "nodeSelectorTerms").index(number))
    name = "preferredDuringSchedulingIgnoredDuringExecution"
    for number, preferred in enumerate(affinity.get(name) or ()):
        yield from _check_term(preferred.get("preference") or {}, affinity_path.child(name).index(number))


def _check_term(term: Tree, path: Path) -> Iterator[FieldError]:
    for number, expression in enumerate(term.get("matchExpressions") or ()):
        item_path, operator = path.child("matchExpressions").index(number), expression.get("operator") or ""
        if operator not in _LABEL_OPERATORS:
            yield field.not_supported(item_path.child("operator"), operator, _LABEL_OPERATORS)
            continue
        try:
            requirement(expression.get("key") or "", _LABEL_OPERATORS[operator], expression.get("values") or ())
        except SelectorError as error:
            yield field.invalid(item_path, expression, str(error))
    for number, expression in enumerate(term.get("matchFields") or ()):
        item_path, operator = path.child("matchFields").index(number), expression.get("operator") or ""
        if operator not in _FIELD_OPERATORS:
            yield field.not_supported(item_path.child("operator"), operator, _FIELD_OPERATORS)
        elif len(expression.get("values") or ()) != 1:
            yield field.required(item_path.child("values"), "must have one element")


def _check_balance(args: Tree, path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, resource in enumerate(args["resources"]):
        item_path = path.child("resources").index(number)
        if resource["name"] in seen:
            yield field.duplicate(item_path.child("name"), resource["name"])
        seen.add(resource["name"])
        if resource["weight"] != 1:
            yield field.invalid(item_path.child("weight"), resource["weight"], "must be 1")


def _check_fit(args: Tree, path: Path) -> Iterator[FieldError]:
    for number, name in enumerate(args.get("ignoredResources") or ()):
        yield from _check_label_name(name, path.child("ignoredResources").index(number))
    for number, group in enumerate(args.get("ignoredResourceGroups") or ()):
        item_path = path.child("ignoredResourceGroups").index(number)
        if "/" in group:
            yield field.invalid(item_path, group, "resource group name can't contain '/'")
        yield from _check_label_name(group, item_path)
    strategy, strategy_path = args["scoringStrategy"], path.child("scoringStrategy")
    kind, ratio = strategy.get("type") or "", strategy.get(_RATIO)
    if kind not in _STRATEGIES:
        yield field.not_supported(strategy_path.child("type"), kind, _STRATEGIES)
    for number, resource in enumerate(strategy["resources"]):
        weight = resource["weight"]
        if not 0 < weight <= 100:
            detail = f"resource weight of {resource['name']} not in valid range (0, 100]"
            yield field.invalid(strategy_path.child("resources").index(number).child("weight"), weight, detail)
    if kind != "RequestedToCapacityRatio":
        if ratio is not None:
            yield field.forbidden(strategy_path.child(_RATIO), "must be nil when type is not RequestedToCapacityRatio")
    elif ratio is None:
        yield field.required(strategy_path.child(_RATIO), "must be specified when type is RequestedToCapacityRatio")
    else:
        yield from _check_shape(ratio.get("shape") or (), strategy_path.child(_RATIO, "shape"))


def _check_label_name(name: str, path: Path) -> Iterator[FieldError]:
    return (field.invalid(path, name, text) for text in check_qualified_name(name))


def _check_shape(shape: Sequence[Tree], path: Path) -> Iterator[FieldError]:
    if not shape:
        yield field.required(path, "at least one point must be specified")
    at = [point["utilization"] for point in shape]
    unsorted = next((number for number in range(1, len(at)) if at[number - 1] >= at[number]), None)
    if unsorted is not None:
        utilization_path = path.index(unsorted).child("utilization")
        yield field.invalid(utilization_path, at[unsorted], "values must be sorted in increasing order")
    for number, point in enumerate(shape):
        for name, highest in (("utilization", 100), ("score", SHAPE_SCORE_MAX)):
            if not 0 <= point[name] <= highest:
                detail = f"not in valid range [0, {highest}]"
                yield field.invalid(path.index(number).child(name), point[name], detail)


def _check_spread(args: Tree, path: Path) -> Iterator[FieldError]:
    kind, constraints = args["defaultingType"], args.get("defaultConstraints") or ()
    type_path = path.child("defaultingType")
    if kind not in _SPREAD_TYPES:
        yield field.not_supported(type_path, kind, _SPREAD_TYPES)
    elif kind == "System" and constraints:
        yield field.invalid(type_path, kind, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for number, constraint in enumerate(constraints):
        item_path = path.child("defaultConstraints").index(number)
        skew, key, action = (constraint.get(name) for name in ("maxSkew", "topologyKey", "whenUnsatisfiable"))
        if (skew or 0) <= 0:
            yield field.invalid(item_path.child("maxSkew"), skew or 0, "not in valid range (0, inf)")
        if not key:
            yield field.required(item_path.child("topologyKey"), "can not be empty")
        else:
            yield from _check_label_name(key, item_path.child("topologyKey"))
        if not action:
            yield field.required(item_path.child("whenUnsatisfiable"), "can not be empty")
        elif action not in _UNSATISFIABLE:
            yield field.not_supported(item_path.child("whenUnsatisfiable"), action, _UNSATISFIABLE)
        if constraint.get("labelSelector") is not None:
            detail = "constraint must not define a selector, as they deduced for each pod"
            yield field.forbidden(item_path.child("labelSelector"), detail)
        if (key, action) in seen:
            yield field.duplicate(item_path, f"{{{key}, {action}}}")
        seen.add((key or "", action or ""))


def _check_volumes(args: Tree, path: Path) -> Iterator[FieldError]:
    seconds = args["bindTimeoutSeconds"]
    if seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        yield field.invalid(path.child("bindTimeoutSeconds"), seconds, detail)
    if args.get("shape") is not None:
        # KEP-4049 is off by default in 1.36 and not implemented here.
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        yield field.invalid(path.child("shape"), args["shape"], detail)


_CHECKS: Final[dict[str, Callable[[Tree, Path], Iterator[FieldError]]]] = {
    "DefaultPreemption": _check_preemption,
    "DynamicResources": _check_devices,
    "InterPodAffinity": _check_affinity_weight,
    "NodeAffinity": _check_added_affinity,
    "NodeResourcesBalancedAllocation": _check_balance,
    "NodeResourcesFit": _check_fit,
    "PodTopologySpread": _check_spread,
    "VolumeBinding": _check_volumes,
}
