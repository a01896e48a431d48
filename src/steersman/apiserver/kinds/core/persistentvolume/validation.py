"""Validation of PersistentVolumes. The spec's rules are in ``kinds/shared/volume_specs.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field
from steersman.apiserver.kinds.shared.go_form import go_diff, go_form
from steersman.apiserver.kinds.shared.validation import FIELD_IS_IMMUTABLE, check_unchanged
from steersman.apiserver.kinds.shared.volume_specs import SOURCES, validate_volume_spec

if TYPE_CHECKING:
    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
#: Deprecated node labels and their replacements.
_RENAMED_LABELS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def validate_volume(obj: Tree) -> list[FieldError]:
    """Validate a PersistentVolume. Upstream: ``ValidatePersistentVolume``."""
    return validate_volume_spec(obj["spec"], _SPEC, volume_name=obj["metadata"].get("name") or "")


def validate_volume_update(obj: Tree, old: Tree) -> list[FieldError]:
    """Validate an update: source and ``volumeMode`` are immutable, as is the node affinity once set."""
    spec, before = obj["spec"], old["spec"]
    errors = validate_volume(obj)
    source = {name: spec[name] for name in SOURCES if spec.get(name) is not None}
    if "csi" in source and before.get("csi") is not None and before["csi"].get("controllerExpandSecretRef") is None:
        source["csi"] = {k: v for k, v in source["csi"].items() if k != "controllerExpandSecretRef"}
    if source != {name: before[name] for name in SOURCES if before.get(name) is not None}:
        diff = go_diff("PersistentVolumeSource", before, source)
        detail = f"spec.persistentvolumesource is immutable after creation\n{diff}"
        errors.append(field.forbidden(_SPEC.child("persistentvolumesource"), detail))
    errors += check_unchanged(spec.get("volumeMode"), before.get("volumeMode"), field.Path("volumeMode"))
    affinity = before.get("nodeAffinity")
    if affinity is not None and not _is_same_affinity(spec.get("nodeAffinity"), affinity):
        detail = f"{FIELD_IS_IMMUTABLE}, except for updating from beta label to GA"
        errors.append(field.invalid("nodeAffinity", _go_affinity(spec.get("nodeAffinity")), detail))
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        detail = "update from non-nil value to nil is forbidden"
        errors.append(field.forbidden(_SPEC.child("volumeAttributesClassName"), detail))
    return errors


def _go_affinity(affinity: Tree | None) -> Tree | None:
    return None if affinity is None else go_form("VolumeNodeAffinity", affinity)


def _is_same_affinity(new: Any, old: Any) -> bool:
    """Report whether two node affinities are equal but for deprecated labels replaced by their current names."""
    if isinstance(new, dict) and isinstance(old, dict):
        if new.get("key") != old.get("key") and _RENAMED_LABELS.get(old.get("key", "")) == new.get("key"):
            old = {**old, "key": new["key"]}
        return new.keys() == old.keys() and all(_is_same_affinity(value, old[key]) for key, value in new.items())
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_is_same_affinity, new, old))
    return bool(new == old)
