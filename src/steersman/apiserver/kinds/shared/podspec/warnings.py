"""Warnings about valid Pods and Pod templates: deprecated, duplicate or ineffective fields.

Upstream: ``GetWarningsForPod``.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import names
from steersman.apimachinery.field import Path
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.quantity import parse
from steersman.apimachinery.workmeter import charged
from steersman.apiserver.kinds.shared.address_warnings import ip_warnings
from steersman.apiserver.kinds.shared.deprecated_labels import key_warning, label_warning
from steersman.apiserver.kinds.shared.podspec.path_warnings import path_warnings
from steersman.apiserver.kinds.shared.podspec.profile_annotations import (
    APP_ARMOR,
    SECCOMP_CONTAINER,
    SECCOMP_POD,
    app_armor_warning,
    profile_of,
)
from steersman.apiserver.kinds.shared.podspec.resources import is_sidecar
from steersman.apiserver.request import bounded_warnings
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_OLD_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
#: Removed volume types.
OLD_VOLUMES: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_OLD_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_NULL_SELECTOR: Final = "a null labelSelector results in matching no pod"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_KINDS: Final = ("initContainers", "containers", "ephemeralContainers")
_UNITS_PER_CONTAINER: Final = 4
_SPEC: Final = Path("spec")
_ANNOTATIONS: Final = Path("metadata", "annotations")
#: Fields of specs about which there are no warnings, or for which ``_may_warn`` looks.
_WITHOUT_WARNINGS: Final = frozenset(
    (
        *_KINDS,
        "activeDeadlineSeconds",
        "automountServiceAccountToken",
        "dnsPolicy",
        "enableServiceLinks",
        "hostname",
        "nodeName",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "restartPolicy",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "subdomain",
        "terminationGracePeriodSeconds",
        "tolerations",
    )
)
_IN_WHOLE_BYTES: Final = ("memory", "ephemeral-storage")


def pod_warnings(pod: Tree, facts_for: FactsFor = new_facts) -> list[str]:
    """Return the warnings about a new Pod."""
    warnings: list[str] = []
    name = pod["metadata"].get("name") or ""
    if not names.is_dns1123_label(name):
        faults = " ".join(names.check_dns1123_label(name))
        warnings.append(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
            f"a DNS label is recommended: [{faults}]"
        )
    warnings += _warnings(pod, _SPEC, _ANNOTATIONS, facts_for)
    return warnings


def template_warnings(template: Tree, path: Path, facts_for: FactsFor = new_facts) -> Iterable[str]:
    """Return the warnings about a new or changed template."""
    return _warnings(template, path.child("spec"), path.child("metadata", "annotations"), facts_for, is_template=True)


def _warnings(
    pod: Tree, path: Path, annotations: Path, facts_for: FactsFor, *, is_template: bool = False
) -> Iterable[str]:
    spec = pod.get("spec") or {}
    pod_annotations = (pod.get("metadata") or {}).get("annotations") or {}

    def compute() -> Iterable[str]:
        if not pod_annotations and not _may_warn(spec):
            return ()
        return bounded_warnings(_all_warnings(spec, pod_annotations, path, annotations, is_template=is_template))

    return compute() if pod_annotations else facts_for(spec).texts_for(str(path), compute)


def _may_warn(spec: Tree) -> bool:
    """Report whether there can be warnings about a spec, apart from its Pod's annotations: for most there are none.

    One walk without paths and texts, which knows less than the warnings themselves.
    """
    if not _WITHOUT_WARNINGS.issuperset(spec) or (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        return True
    ports: set[Any] = set()
    count = 0
    container: Tree  # typed, as compiled code then reads it directly
    port: Tree
    variables: list[Tree] | None
    resources: Tree | None
    for kind in _KINDS:
        for container in charged(spec.get(kind) or (), _UNITS_PER_CONTAINER):
            if (resources := container.get("resources")) and _has_fractions(resources):
                return True
            variables = container.get("env")
            if variables and len({variable.get("name") for variable in variables}) < len(variables):
                return True
            for port in container.get("ports") or ():
                if port.get("hostIP"):
                    return True
                ports.add((port.get("containerPort"), port.get("protocol")))
                count += 1
                if name := port.get("name"):
                    ports.add(name)
                    count += 1
    return len(ports) < count


def _has_fractions(resources: Tree) -> bool:
    """Report whether requests or limits of a container have an amount in fractions of a byte."""
    for kind in ("limits", "requests"):
        if amounts := resources.get(kind):
            for name in _IN_WHOLE_BYTES:
                if _has_fraction(amounts, name):
                    return True
    return False


def _all_warnings(
    spec: Tree, pod_annotations: Tree, path: Path, annotations: Path, *, is_template: bool
) -> Iterator[str]:
    # Absent fields are skipped here, as a generator for each of them would dominate the cost.
    if spec.get("nodeSelector") or spec.get("affinity") or spec.get("topologySpreadConstraints"):
        yield from _scheduling_warnings(spec, path)
    if pod_annotations:
        for name, text in _OLD_ANNOTATIONS.items():
            if name in pod_annotations:
                yield f"{annotations.key(name)}: {text}"
    if volumes := spec.get("volumes"):
        yield from _volume_warnings(volumes, path.child("volumes"))
    if spec.get("hostAliases") or spec.get("imagePullSecrets"):
        yield from _duplicate_name_warnings(spec, path)
    if overhead := spec.get("overhead"):
        for name in _IN_WHOLE_BYTES:
            yield from fraction_warnings(overhead, name, path.child("overhead"))
    if SECCOMP_POD in pod_annotations and (spec.get("securityContext") or {}).get("seccompProfile") is None:
        yield f"{annotations.key(SECCOMP_POD)}: {_OLD_SECCOMP}"
    containers = list(_containers(spec, path))
    for container, container_path in charged(containers, _UNITS_PER_CONTAINER):
        if pod_annotations:
            yield from _profile_warnings(container, spec, pod_annotations, annotations, is_template=is_template)
        if container.get("resources") or container.get("env"):
            yield from _container_warnings(container, container_path)
    if any(container.get("ports") for container, _ in containers):
        yield from _port_warnings(containers)
        yield from _port_name_warnings(spec, path)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        grace_period_path = path.child("terminationGracePeriodSeconds")
        yield f"{grace_period_path}: must be >= 0; negative values are invalid and will be treated as 1"
    if affinity := spec.get("affinity"):
        yield from _selector_warnings(affinity, path.child("affinity"))
    if spec.get("dnsConfig") or spec.get("hostAliases"):
        yield from _address_warnings(spec, path)


def _containers(spec: Tree, path: Path) -> Iterator[tuple[Tree, Path]]:
    """Yield all containers in start order, with their paths."""
    for kind in _KINDS:
        for position, container in enumerate(charged(spec.get(kind) or (), _UNITS_PER_CONTAINER)):
            yield container, path.child(kind).index(position)


# -- scheduling constraints -------------------------------------------------------------------------------------------


def _scheduling_warnings(spec: Tree, path: Path) -> Iterator[str]:
    for label in sorted(spec.get("nodeSelector") or ()):
        yield from label_warning(label, path.child("nodeSelector").key(label))
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    if nodes:
        node_affinity_path = path.child("affinity", "nodeAffinity")
        terms = (nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
        for position, term in enumerate(terms):
            yield from node_term_warnings(
                term, node_affinity_path.child(_REQUIRED, "nodeSelectorTerms").index(position)
            )
        for position, weighted in enumerate(nodes.get(_PREFERRED) or ()):
            preference_path = node_affinity_path.child(_PREFERRED).index(position).child("preference")
            yield from node_term_warnings(weighted.get("preference") or {}, preference_path, check_values=True)
    for position, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        constraint_path = path.child("topologySpreadConstraints").index(position)
        yield from key_warning(constraint.get("topologyKey") or "", constraint_path.child("topologyKey"))
        if constraint.get("labelSelector") is None:
            yield f"{constraint_path.child('labelSelector')}: {_NULL_SELECTOR}"


def node_term_warnings(term: Tree, path: Path, *, check_values: bool = False) -> Iterator[str]:
    """Yield warnings about deprecated labels and invalid values in a ``NodeSelectorTerm``."""
    for position, requirement in enumerate(term.get("matchExpressions") or ()):
        item_path = path.child("matchExpressions").index(position)
        yield from key_warning(requirement.get("key") or "", item_path.child("key"))
        for number, value in enumerate(requirement.get("values") or () if check_values else ()):
            for fault in names.check_label_value(value):
                yield f"{item_path.child('values').index(number)}: {value} is invalid, {fault}"


def _selector_warnings(affinity: Tree, path: Path) -> Iterator[str]:
    """Yield warnings about Pod affinity terms that match no Pod."""
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for position, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path.child(kind, _REQUIRED).index(position).child('labelSelector')}: {_NULL_SELECTOR}"
        for position, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                label_selector_path = (
                    path.child(kind, _PREFERRED).index(position).child("podAffinityTerm", "labelSelector")
                )
                yield f"{label_selector_path}: {_NULL_SELECTOR}"


# -- volumes, names and addresses -------------------------------------------------------------------------------------


def _volume_warnings(volumes: Sequence[Tree], path: Path) -> Iterator[str]:
    for position, volume in enumerate(volumes):
        for kind, text in OLD_VOLUMES.items():
            if volume.get(kind) is not None:
                shown = "storageOS" if kind == "storageos" else kind
                yield f"{path.index(position).child(shown)}: {text}"
        claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec")
        if claim:
            spec_path = path.index(position).child("ephemeral", "volumeClaimTemplate", "spec")
            yield from claim_spec_warnings(claim, spec_path)
    yield from path_warnings(volumes)


def claim_spec_warnings(spec: Tree, path: Path) -> Iterator[str]:
    """Return the warnings about the spec of a PersistentVolumeClaim."""
    for kind in ("requests", "limits"):
        amounts = (spec.get("resources") or {}).get(kind) or {}
        yield from fraction_warnings(amounts, "storage", path.child("resources", kind))


def fraction_warnings(amounts: Mapping[str, str], name: str, path: Path) -> Iterator[str]:
    """Yield a warning about an amount in fractions of a byte."""
    if _has_fraction(amounts, name):
        yield f'{path.key(name)}: fractional byte value "{amounts[name]}" is invalid, must be an integer'


def _has_fraction(amounts: Mapping[str, str], name: str) -> bool:
    amount = amounts.get(name)
    return amount is not None and not amount.isdigit() and parse(amount).milli % 1000 != 0


def _duplicate_name_warnings(spec: Tree, path: Path) -> Iterator[str]:
    seen: set[str] = set()
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        ip = alias.get("ip") or ""
        if ip in seen:
            yield f"{path.child('hostAliases').index(position).child('ip')}: duplicate ip {quote(ip)}"
        seen.add(ip)
    seen = set()
    secrets = spec.get("imagePullSecrets") or ()
    for position, secret in enumerate(secrets):
        name = secret.get("name") or ""
        if name in seen:
            yield f"{path.child('imagePullSecrets').index(position).child('name')}: duplicate name {quote(name)}"
        seen.add(name)
    for position, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{path.child("imagePullSecrets").index(position).child("name")}: invalid empty name ""'


def _address_warnings(spec: Tree, path: Path) -> Iterator[str]:
    """Yield warnings about addresses in non-canonical form."""
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or ()
    for position, server in enumerate(servers):
        yield from ip_warnings(str(path.child("dnsConfig", "nameservers").index(position)), server)
    for position, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(str(path.child("hostAliases").index(position).child("ip")), alias.get("ip") or "")


# -- containers -------------------------------------------------------------------------------------------------------


def _profile_warnings(
    container: Tree, spec: Tree, pod_annotations: Tree, path: Path, *, is_template: bool
) -> Iterator[str]:
    """Yield warnings about profile annotations without the corresponding field.

    AppArmor annotations of Pods become fields.
    """
    own, pods = container.get("securityContext") or {}, spec.get("securityContext") or {}
    name = SECCOMP_CONTAINER + container.get("name", "")
    if name in pod_annotations and own.get("seccompProfile") is None:
        yield f"{path.key(name)}: {_OLD_SECCOMP}"
    name = APP_ARMOR + container.get("name", "")
    if is_template and name in pod_annotations and own.get("appArmorProfile") is None:
        profile = pods.get("appArmorProfile")
        if profile is None or profile != profile_of(pod_annotations[name]):
            yield app_armor_warning(str(path.key(name)))


def _container_warnings(container: Tree, path: Path) -> Iterator[str]:
    resources = container.get("resources")
    if resources:
        for name in _IN_WHOLE_BYTES:
            for kind in ("limits", "requests"):
                if (amounts := resources.get(kind)) and _has_fraction(amounts, name):
                    yield from fraction_warnings(amounts, name, path.child("resources", kind))
    variables = container.get("env") or ()
    if len(variables) < 2:
        return
    seen: set[str] = set()
    for position, variable in enumerate(variables):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        hides = variable.get("valueFrom") is not None or value == reference or reference not in value
        if name in seen and hides:
            item_path = path.child("env").index(position)
            yield f"{item_path}: hides previous definition of {quote(name)}, which may be dropped when using apply"
        seen.add(name)


def _port_warnings(containers: Iterable[tuple[Tree, Path]]) -> Iterator[str]:
    """Yield warnings about ports that overlap with an earlier one."""
    #: The first port with a number and protocol, with the path of its container and its position; most have no other.
    firsts: dict[tuple[Any, Any], tuple[Tree, Path, int]] = {}
    groups: dict[tuple[Any, Any], _PortGroup] = {}
    for container, container_path in containers:
        for position, port in enumerate(container.get("ports") or ()):
            if port.get("hostIP") and not port.get("hostPort"):
                item_path = container_path.child("ports").index(position)
                yield f"{item_path}: hostIP set without hostPort: {_go_port(port)}"
            key = port.get("containerPort", 0), port.get("protocol", "")
            first = firsts.get(key)
            if first is None:
                firsts[key] = port, container_path, position
                continue
            group = groups.get(key)
            if group is None:
                group = groups[key] = _PortGroup()
                other, other_where, other_position = first
                group.add(other, other_where.child("ports").index(other_position))
            item_path = container_path.child("ports").index(position)
            for overlap, other_path in group.overlaps(port):
                yield f"{item_path}: {overlap} port definition with {other_path}"
            group.add(port, item_path)


class _PortGroup:
    """Ports with one number and protocol, indexed for the search of overlapping ones."""

    def __init__(self) -> None:
        #: Host IP, host port and path of each port, in order.
        self._ports: list[tuple[str, int, Path]] = []
        #: Positions by host port and presence of a host IP, and by host port and host IP.
        self._by_host_port: dict[tuple[int, bool], list[int]] = {}
        self._by_both: dict[tuple[str, int], list[int]] = {}

    def add(self, port: Tree, path: Path) -> None:
        """Add a port."""
        host_ip, host_port = port.get("hostIP", ""), port.get("hostPort", 0)
        position = len(self._ports)
        self._ports.append((host_ip, host_port, path))
        self._by_host_port.setdefault((host_port, bool(host_ip)), []).append(position)
        self._by_both.setdefault((host_ip, host_port), []).append(position)

    def overlaps(self, port: Tree) -> Iterator[tuple[str, Path]]:
        """Yield the kind of overlap with earlier ports, and their paths, in order."""
        host_ip, host_port = port.get("hostIP", ""), port.get("hostPort", 0)
        if not host_port:
            candidates: Iterable[int] = range(len(self._ports))
        else:
            without_host_port = [self._by_host_port.get((0, has_ip), []) for has_ip in (False, True)]
            ambiguous = self._by_host_port.get((host_port, not host_ip), [])
            candidates = heapq.merge(*without_host_port, ambiguous, self._by_both.get((host_ip, host_port), []))
        for position in candidates:
            other_ip, other_port, path = self._ports[position]
            if (host_ip, host_port) == (other_ip, other_port):
                yield "duplicate", path
            elif not host_port or not other_port:
                yield "overlapping", path
            else:
                yield "dangerously ambiguous", path


def _go_port(port: Tree) -> str:
    """Return a port as Go prints the struct."""
    return (
        f"{{Name:{port.get('name', '')} HostPort:{port.get('hostPort', 0)} ContainerPort:{port.get('containerPort', 0)}"
        f" Protocol:{port.get('protocol', '')} HostIP:{port.get('hostIP', '')}}}"
    )


def _port_path(path: Path, kind: str, number: int, position: int) -> Path:
    return path.child(kind).index(number).child("ports").index(position)


def _port_name_warnings(spec: Tree, path: Path) -> Iterator[str]:
    """Yield warnings about duplicate port names among containers that run at the same time."""
    #: Kind of container, its number and the position of the first port by its name.
    places: dict[str, tuple[str, int, int]] = {}
    for kind in _KINDS:
        for number, container in enumerate(spec.get(kind) or ()):
            if kind == _KINDS[0] and not is_sidecar(container):
                continue
            for position, port in enumerate(container.get("ports") or ()):
                name = port.get("name")
                if not name:
                    continue
                place = kind, number, position
                first = places.setdefault(name, place)
                if first != place:
                    port_path, other = _port_path(path, *place), _port_path(path, *first)
                    yield (
                        f"{port_path}: duplicate port name {quote(name)} with {other}, services and probes that select ports"
                        f" by name will use {other}"
                    )
