"""Compatibility of client-side and server-side ``kubectl apply`` on the same objects.

Client-side apply records its config in an annotation. When kubectl then applies server-side, fields that are in the
annotation and still have its values are kubectl's own, whichever manager owns them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.gotext import to_json
from steersman.apimachinery.managedfields.compare import compare_trees
from steersman.apimachinery.managedfields.fieldset import Node, difference, has, of, paths
from steersman.apimachinery.managedfields.shapes import root_shape
from steersman.apimachinery.managedfields.validate import faults_of

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.entries import Owner
    from steersman.apimachinery.managedfields.schema import Schema
    from steersman.apimachinery.trees import Tree

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
#: Manager whose applies follow these rules.
KUBECTL: Final = "kubectl"
_ANNOTATIONS_SIZE_MAX_BYTES: Final = 256 * 1024


def conflicts_of_others(conflicts: dict[Owner, Node], live: Tree, schema: Schema) -> dict[Owner, Node]:
    """Return the conflicts without those on fields that kubectl itself applied last."""
    own = _last_applied_fields(live, schema)
    rest = {owner: of(path for path in paths(fields) if not has(own, path)) for owner, fields in conflicts.items()}
    return {owner: fields for owner, fields in rest.items() if fields}


def _last_applied_fields(live: Tree, schema: Schema) -> Node:
    """Return the annotation's fields that the live object still has as applied; empty without the annotation."""
    try:
        applied = json.loads(_annotations(live).get(ANNOTATION) or "null")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(applied, dict) or applied.get("apiVersion") != schema.api_version:
        return {}
    struct = schema.struct
    if faults_of(applied, struct) or faults_of(live, struct):
        return {}
    comparison = compare_trees(applied, live, struct)
    return difference(difference(root_shape(struct).below(applied), comparison.changed), comparison.removed)


def keep_up(obj: Tree, config: Tree) -> None:
    """Update the annotation of an object that has one, for a later client-side apply. Mutates ``obj``."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return
    annotations = {**annotations, ANNOTATION: _configuration(config)}
    size_bytes = sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items())
    if size_bytes > _ANNOTATIONS_SIZE_MAX_BYTES:
        del annotations[ANNOTATION]
    obj["metadata"]["annotations"] = annotations


def _configuration(config: Tree) -> str:
    """Return the applied object as stored in the annotation: without the annotation itself."""
    if ANNOTATION in _annotations(config):
        metadata = dict(config["metadata"])
        metadata["annotations"] = {key: value for key, value in metadata["annotations"].items() if key != ANNOTATION}
        config = {**config, "metadata": metadata}
    return to_json(_sorted(config)) + "\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _annotations(obj: Tree) -> dict[str, Any]:
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}
