"""Fields of feature gates that are off: writes drop them, unless the stored object uses one of them.

Upstream: ``dropDisabledFields`` of ``pkg/api/pod/util.go`` and of the strategies in ``pkg/registry``, which is code for each kind.
Here it is one rule over a table. A gate is in the table if it is on by default, and these fields are all that it changes in
the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from steersman.apimachinery.trees import Tree


class Step(NamedTuple):
    """One field of a path; its values are those of a list (``[]``), of a map (``{}``), or its one value."""

    name: str
    form: str


class GatedField(NamedTuple):
    """A field of a feature gate, by its path: ``spec.containers[].env[].valueFrom.fileKeyRef``."""

    path: str
    #: Value of the field that another, older feature has.
    other_use: str = ""


class Gate(NamedTuple):
    """Fields of one feature gate, by group resource."""

    fields: Mapping[str, tuple[GatedField, ...]]
    #: Objects that use the fields may go on to do so.
    keeps_used: bool = True


#: Place of the pod specs in the kinds that hold one.
_POD_SPECS: Final = {
    "pods": "spec",
    "podtemplates": "template.spec",
    "replicationcontrollers": "spec.template.spec",
    "daemonsets.apps": "spec.template.spec",
    "deployments.apps": "spec.template.spec",
    "replicasets.apps": "spec.template.spec",
    "statefulsets.apps": "spec.template.spec",
    "cronjobs.batch": "spec.jobTemplate.spec.template.spec",
    "jobs.batch": "spec.template.spec",
}
_CONTAINERS: Final = ("initContainers[]", "containers[]", "ephemeralContainers[]")
_STATUSES: Final = ("initContainerStatuses[]", "containerStatuses[]", "ephemeralContainerStatuses[]")
_CLAIM_SPECS: Final = {"resourceclaims.resource.k8s.io": "spec", "resourceclaimtemplates.resource.k8s.io": "spec.spec"}
_CLAIMS: Final = "resourceclaims.resource.k8s.io"
_SLICES: Final = "resourceslices.resource.k8s.io"
_RESULTS: Final = "status.allocation.devices.results[]"


def _fields(*paths: str) -> tuple[GatedField, ...]:
    return tuple(map(GatedField, paths))


def _in(places: Mapping[str, str], *fields: GatedField) -> dict[str, tuple[GatedField, ...]]:
    """Return fields below a place that differs by kind."""
    return {kind: tuple(GatedField(f"{place}.{f.path}", f.other_use) for f in fields) for kind, place in places.items()}


def _containers(field: str) -> tuple[GatedField, ...]:
    return _fields(*(f"{containers}.{field}" for containers in _CONTAINERS))


def _joined(*parts: Mapping[str, tuple[GatedField, ...]]) -> dict[str, tuple[GatedField, ...]]:
    joined: dict[str, tuple[GatedField, ...]] = {}
    for part in parts:
        for kind, fields in part.items():
            joined[kind] = (*joined.get(kind, ()), *fields)
    return joined


_BINDING: Final = _fields(
    *(f"spec.devices[].{name}" for name in ("bindingConditions", "bindingFailureConditions", "bindsToNode"))
)
_REPLICAS: Final = _fields("status.terminatingReplicas")

GATES: Final[Mapping[str, Gate]] = {
    "ContainerRestartRules": Gate(
        _in(
            _POD_SPECS,
            *_containers("restartPolicyRules"),
            GatedField("initContainers[].restartPolicy", "Always"),  # sidecars
            *_fields("containers[].restartPolicy", "ephemeralContainers[].restartPolicy"),
        )
    ),
    "DRAConsumableCapacity": Gate(
        _joined(
            _in(
                _CLAIM_SPECS,
                *_fields(
                    "devices.constraints[].distinctAttribute",
                    "devices.requests[].exactly.capacity",
                    "devices.requests[].firstAvailable[].capacity",
                ),
            ),
            {
                _CLAIMS: _fields(f"{_RESULTS}.shareID", f"{_RESULTS}.consumedCapacity", "status.devices[].shareID"),
                _SLICES: _fields("spec.devices[].allowMultipleAllocations", "spec.devices[].capacity{}.requestPolicy"),
            },
        )
    ),
    "DRADeviceBindingConditions": Gate(
        {_CLAIMS: _fields(f"{_RESULTS}.bindingConditions", f"{_RESULTS}.bindingFailureConditions"), _SLICES: _BINDING}
    ),
    "DRADeviceTaints": Gate(
        _joined(
            _in(
                _CLAIM_SPECS,
                *_fields("devices.requests[].exactly.tolerations", "devices.requests[].firstAvailable[].tolerations"),
            ),
            {_SLICES: _fields("spec.devices[].taints")},
        )
    ),
    "DRAExtendedResource": Gate(
        {
            "deviceclasses.resource.k8s.io": _fields("spec.extendedResourceName"),
            "pods": _fields("status.extendedResourceClaimStatus"),
        }
    ),
    "DRAPartitionableDevices": Gate(
        {
            _SLICES: _fields(
                "spec.sharedCounters",
                "spec.perDeviceNodeSelection",
                *(f"spec.devices[].{name}" for name in ("consumesCounters", "nodeName", "nodeSelector", "allNodes")),
            )
        }
    ),
    "DRAPrioritizedList": Gate(_in(_CLAIM_SPECS, GatedField("devices.requests[].firstAvailable"))),
    "DRAResourceClaimDeviceStatus": Gate({_CLAIMS: _fields("status.devices"), _SLICES: _BINDING}),
    "DeploymentReplicaSetTerminatingReplicas": Gate({"deployments.apps": _REPLICAS, "replicasets.apps": _REPLICAS}),
    "EnvFiles": Gate(_in(_POD_SPECS, *_containers("env[].valueFrom.fileKeyRef"))),
    "HPAConfigurableTolerance": Gate(
        {
            "horizontalpodautoscalers.autoscaling": _fields(
                "spec.behavior.scaleUp.tolerance", "spec.behavior.scaleDown.tolerance"
            )
        }
    ),
    "HostnameOverride": Gate(_in(_POD_SPECS, GatedField("hostnameOverride"))),
    "MatchLabelKeysInPodTopologySpread": Gate(
        _in(_POD_SPECS, GatedField("topologySpreadConstraints[].matchLabelKeys"))
    ),
    "PodLevelResources": Gate(_in(_POD_SPECS, GatedField("resources"))),
    "ResourceHealthStatus": Gate(
        {"pods": _fields(*(f"status.{statuses}.allocatedResourcesStatus" for statuses in _STATUSES))}, keeps_used=False
    ),
}


class _Rule:
    """The fields of one gate in one kind."""

    __slots__ = ("_fields", "_keeps_used")

    def __init__(self, fields: Iterable[GatedField], *, keeps_used: bool) -> None:
        self._fields: Final = [(_steps(field.path), field.other_use) for field in fields]
        self._keeps_used: Final = keeps_used

    def drop(self, obj: Tree, old: Tree | None) -> None:
        if old is not None and self._keeps_used and self._is_used(old):
            return
        for steps, other_use in self._fields:
            name = steps[-1].name
            for holder in _holders(obj, steps):
                if _is_use(holder.get(name), other_use):
                    del holder[name]

    def _is_used(self, tree: Tree) -> bool:
        return any(
            _is_use(holder.get(steps[-1].name), other_use)
            for steps, other_use in self._fields
            for holder in _holders(tree, steps)
        )


class DisabledFields:
    """The fields of one kind that are disabled."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Sequence[_Rule]) -> None:
        self._rules: Final = rules

    def drop(self, obj: Tree, old: Tree | None) -> None:
        """Drop disabled fields of an object that is to be stored; ``old`` is the stored one, None for a create."""
        for rule in self._rules:
            rule.drop(obj, old)


def disabled_fields(group_resource: str, gates: Mapping[str, bool]) -> DisabledFields | None:
    """Return the disabled fields of a kind; None if it has none. ``gates``: the values of gates that are set."""
    rules = [
        _Rule(gate.fields[group_resource], keeps_used=gate.keeps_used)
        for name, gate in GATES.items()
        if group_resource in gate.fields and not gates.get(name, True)
    ]
    return DisabledFields(rules) if rules else None


def _steps(path: str) -> list[Step]:
    return [Step(part.rstrip("[]{}"), part[len(part.rstrip("[]{}")) :]) for part in path.split(".")]


def _holders(tree: Tree, steps: Sequence[Step]) -> list[Tree]:
    """Return the objects of ``tree`` that may have the last field of a path."""
    holders = [tree]
    for name, form in steps[:-1]:
        holders = [below for holder in holders for below in _values(holder.get(name), form) if isinstance(below, dict)]
    return holders


def _values(value: Any, form: str) -> Iterator[Any]:
    if form == "[]":
        yield from value or ()
    elif form == "{}":
        yield from (value or {}).values()
    else:
        yield value


def _is_use(value: Any, other_use: str) -> bool:
    """Report whether a value of a field uses its feature: it is set, and not empty."""
    return value is not None and value not in ([], {}) and not (other_use and value == other_use)
