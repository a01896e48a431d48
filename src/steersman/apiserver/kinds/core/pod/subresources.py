"""Updates of a Pod through ``/ephemeralcontainers`` and ``/resize``: which fields they change, and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.core.pod.updates import MIRROR, rules_of, validate_annotation_changes
from steersman.apiserver.kinds.core.pod.validation import validate_pod
from steersman.apiserver.kinds.shared.go_form import go_diff
from steersman.apiserver.kinds.shared.podspec.resources import is_sidecar, qos_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
#: Upstream's path of the object itself is ``[]``.
_WHOLE: Final = field.Path("")
_EPHEMERAL: Final = _SPEC.child("ephemeralContainers")
_ONLY_RESIZED: Final = "only cpu and memory resources are mutable"
_CPU_AND_MEMORY: Final = frozenset({"cpu", "memory"})
#: Metadata that only writes to the main resource may change.
_METADATA: Final = (
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
)


def _revert_all_but_spec(pod: Tree, old: Tree, spec: Tree) -> None:
    """Replace all fields but ``spec`` by those of the old Pod."""
    pod["spec"] = spec
    pod["status"] = old.get("status") or {}
    metadata, before = pod["metadata"], old["metadata"]
    for name in _METADATA:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)


# -- ephemeral containers ---------------------------------------------------------------------------------------------


def keep_all_but_ephemeral_containers(pod: Tree, old: Tree) -> None:
    """Revert all changes but those of ``spec.ephemeralContainers``."""
    ephemeral = pod["spec"].get("ephemeralContainers")
    spec = dict(old["spec"])
    spec.pop("ephemeralContainers", None)
    if ephemeral:
        spec["ephemeralContainers"] = ephemeral
    _revert_all_but_spec(pod, old, spec)


def validate_ephemeral_containers_update(pod: Tree, old: Tree) -> list[FieldError]:
    """Validate that existing ephemeral containers are unchanged. Upstream: ``ValidatePodEphemeralContainersUpdate``."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [field.forbidden(_WHOLE, "static pods do not support ephemeral containers")]
    errors = validate_pod(pod, rules_of(pod))
    errors += validate_annotation_changes(pod, old)
    now = {container.get("name"): container for container in pod["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name", "")
        if name not in now:
            errors.append(field.forbidden(_EPHEMERAL, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif now[name] != container:
            diff = go_diff("EphemeralContainer", container, now[name])
            detail = f'existing ephemeral containers "{name}" may not be changed\n{diff}'
            errors.append(field.forbidden(_EPHEMERAL, detail))
    return errors


# -- resize -----------------------------------------------------------------------------------------------------------


def keep_all_but_resources(pod: Tree, old: Tree) -> None:
    """Revert all changes but those of resources.

    Added or removed containers are left for ``validate_resize`` to reject.
    """
    spec, before = pod["spec"], old["spec"]
    kinds = ("containers", "initContainers")
    if any(len(spec.get(kind) or ()) != len(before.get(kind) or ()) for kind in kinds):
        return
    old_spec = dict(before)
    for kind in kinds:
        if before.get(kind):
            old_spec[kind] = _with_resources(spec[kind], before[kind])
    if spec.get("resources") is None:
        old_spec.pop("resources", None)
    else:
        old_spec["resources"] = spec["resources"]
    _revert_all_but_spec(pod, old, old_spec)


def _with_resources(containers: list[Tree], before: list[Tree]) -> list[Tree]:
    """Return the old containers with new resources, or the new containers if number or order differ."""
    if [one.get("name") for one in containers] != [one.get("name") for one in before]:
        return containers
    result: list[Tree] = []
    for container, old in zip(containers, before, strict=True):
        merged = {**old, "resources": container.get("resources") or {}}
        merged.pop("resizePolicy", None)
        if container.get("resizePolicy"):
            merged["resizePolicy"] = container["resizePolicy"]
        result.append(merged)
    return result


def validate_resize(pod: Tree, old: Tree) -> list[FieldError]:
    """Validate a resize: only requests and limits of cpu and memory change, and the QoS class stays.

    Upstream: ``ValidatePodResize``.
    """
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [field.forbidden(_WHOLE, "static pods cannot be resized")]
    spec, before = pod["spec"], old["spec"]
    if (before.get("os") or {}).get("name") == "windows":
        return [field.forbidden(_WHOLE, "windows pods cannot be resized")]
    errors = validate_pod(pod, rules_of(pod))
    quality = (old.get("status") or {}).get("qosClass") or qos_class(before)
    if quality != qos_class(spec):
        errors.append(field.invalid(_SPEC, quality, "Pod QOS Class may not change as a result of resizing"))
    if not _is_resize_supported(old):
        errors.append(field.forbidden(_SPEC, "Pod running on node without support for resize"))
    errors += _check_pod_level(spec.get("resources"), before.get("resources"))
    other_order = list(_check_order(spec, before))
    if other_order:
        return errors + other_order
    init_pairs = list(zip(spec.get("initContainers") or (), before.get("initContainers") or (), strict=True))
    pairs = list(zip(spec.get("containers") or (), before.get("containers") or (), strict=True))
    for kind, several in (("initContainers", init_pairs), ("containers", pairs)):
        for position, (container, one) in enumerate(several):
            path = _SPEC.child(kind).index(position).child("resources")
            errors += _check_none_removed(container.get("resources"), one.get("resources"), path)
    errors += [
        field.forbidden(_SPEC, _ONLY_RESIZED) for container, one in pairs if not _is_only_resized(container, one)
    ]
    for position, (container, one) in enumerate(init_pairs):
        errors += _check_init_container(container, one, _SPEC.child("initContainers").index(position))
    return errors


def _is_resize_supported(old: Tree) -> bool:
    """Report whether the Pod's node supports resize, i.e. its status shows the resources of running containers."""
    for status in (old.get("status") or {}).get("containerStatuses") or ():
        if (status.get("state") or {}).get("running") is not None:
            return status.get("resources") is not None
    return True


def _check_order(spec: Tree, before: Tree) -> Iterator[FieldError]:
    for kind in ("containers", "initContainers"):
        containers: Sequence[Tree] = spec.get(kind) or ()
        old: Sequence[Tree] = before.get(kind) or ()
        if len(containers) != len(old):
            yield field.forbidden(_SPEC.child(kind), f"{kind} may not be added or removed on resize")
            continue
        for position, (container, one) in enumerate(zip(containers, old, strict=True)):
            if container.get("name") != one.get("name"):
                name_path = _SPEC.child(kind).index(position).child("name")
                yield field.forbidden(name_path, f"{kind} may not be renamed or reordered on resize")


def _check_pod_level(resources: Tree | None, before: Tree | None) -> Iterator[FieldError]:
    """Validate a change of ``spec.resources``."""
    path = _SPEC.child("resources")
    if before and resources is None:
        yield field.forbidden(path, "pod-level resources cannot be removed")
        return
    yield from _check_none_removed(resources, before, path, of="pod-level ")
    if _with_cpu_and_memory_of(resources, before) != _with_cpu_and_memory_of(before, before):
        yield field.forbidden(_SPEC, f"{_ONLY_RESIZED} at pod-level")


def _check_init_container(container: Tree, before: Tree, path: field.Path) -> Iterator[FieldError]:
    """Reject changes but those of cpu and memory; non-sidecars with resize policy RestartContainer may not change at
    all.
    """
    if not _is_only_resized(container, before):
        yield field.forbidden(path, "only cpu and memory resources for init or sidecar containers are mutable")
    restarts = any(one.get("restartPolicy") == "RestartContainer" for one in container.get("resizePolicy") or ())
    if restarts and not is_sidecar(container) and container != before:
        detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        yield field.forbidden(path, detail)


def _check_none_removed(
    resources: Tree | None, before: Tree | None, path: field.Path, *, of: str = ""
) -> Iterator[FieldError]:
    """Reject the removal of requests and limits; amounts may change."""
    for kind in ("requests", "limits"):
        if not _amounts(resources, kind).keys() >= _amounts(before, kind).keys():
            yield field.forbidden(path.child(kind), f"{of}resource {kind} cannot be removed")


def _is_only_resized(container: Tree, before: Tree) -> bool:
    """Report whether only amounts of cpu and memory differ.

    As upstream, a change of claims counts as another difference.
    """
    rest, rest_before = _without_resources(container), _without_resources(before)
    resources, old = container.get("resources"), before.get("resources")
    return rest == rest_before and {**_with_cpu_and_memory_of(resources, old), "claims": []} == {
        **_with_cpu_and_memory_of(old, old),
        "claims": (old or {}).get("claims") or [],
    }


def _amounts(resources: Tree | None, kind: str) -> dict[str, Any]:
    return (resources or {}).get(kind) or {}


def _with_cpu_and_memory_of(resources: Tree | None, before: Tree | None) -> Tree:
    """Return the new resources with cpu and memory amounts of the old ones."""
    masked: Tree = {}
    for kind in ("requests", "limits"):
        amounts = {name: amount for name, amount in _amounts(resources, kind).items() if name not in _CPU_AND_MEMORY}
        old = _amounts(before, kind)
        masked[kind] = amounts | {name: amount for name, amount in old.items() if name in _CPU_AND_MEMORY}
    return masked


def _without_resources(container: Tree) -> Tree:
    return {name: value for name, value in container.items() if name != "resources" and value not in (None, [])}
