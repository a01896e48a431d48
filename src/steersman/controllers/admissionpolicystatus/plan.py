"""Types that a policy's expressions are checked against, and the policy's status. Pure rules."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.client.objects import metadata_field, name_of, uid_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lightkube.models.admissionregistration_v1 import ValidatingAdmissionPolicy

    from steersman.apimachinery.trees import Tree


#: Maximum number of kinds of a rule; rules after one that reaches it are ignored.
TYPES_MAX: Final = 10

_SCHEMAS_PREFIX: Final = "#/components/schemas/"


class Matched(NamedTuple):
    """Resource that a policy matches."""

    group: str
    version: str
    resource: str


class GroupVersionKind(NamedTuple):
    """Kind of a matched resource; sorts as upstream does."""

    group: str
    version: str
    kind: str


def is_checked(policy: ValidatingAdmissionPolicy) -> bool:
    """Report whether this generation was checked."""
    observed = (policy.status.observedGeneration if policy.status else None) or 0
    return (metadata_field(policy, "generation") or 0) <= observed


def matched(spec: Tree) -> list[list[Matched]]:
    """Return the resources of each rule, sorted, without subresources; rules with wildcards match none.

    Upstream: ``typesToCheck`` of plugin/policy/validating/typechecking.go.
    """
    rules: list[list[Matched]] = []
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if any("*" in text for text in (*groups, *versions)):
            continue
        resources = [name for name in rule.get("resources") or () if not set("*/") & set(name)]
        rules.append([Matched(*names) for names in product(sorted(groups), sorted(versions), sorted(resources))])
    return rules


def shown_kind(group: str, version: str, kind: str) -> str:
    """Return the kind in the format of type checking warnings."""
    return f"{group}/{version}, Kind={kind}"


def schema_of(document: Tree, group: str, version: str, kind: str) -> Tree | None:
    """Return the schema of a kind in an OpenAPI v3 document, with references replaced by what they refer to.

    A reference to a schema that contains it is replaced by an object without fields. None if the kind or a schema is missing.

    Upstream: staging/src/k8s.io/apiserver/pkg/cel/openapi/resolver/refs.go.
    """
    gvk = {"group": group, "version": version, "kind": kind}
    schemas: dict[str, Tree] = (document.get("components") or {}).get("schemas") or {}
    for name, schema in schemas.items():
        if gvk in (schema.get("x-kubernetes-group-version-kind") or ()):
            try:
                return _without_references(schema, schemas, frozenset({name}))
            except KeyError:
                return None
    return None


def _without_references(schema: Tree, schemas: Mapping[str, Tree], containing: frozenset[str]) -> Tree:
    """Return a schema with its references replaced. Raises KeyError for a missing one."""
    name = _reference_of(schema).removeprefix(_SCHEMAS_PREFIX)
    if name in containing:
        return {"type": "object"}
    if name:
        schema = schemas[name]
        containing |= {name}
    replaced = dict(schema)
    if schema.get("format") == "int-or-string":  # of built-in types; definitions have the extension
        replaced["x-kubernetes-int-or-string"] = True
    for key in ("items", "additionalProperties"):
        if isinstance(below := schema.get(key), dict):
            replaced[key] = _without_references(below, schemas, containing)
    if properties := schema.get("properties"):
        replaced["properties"] = {
            key: _without_references(below, schemas, containing) for key, below in properties.items()
        }
    return replaced


def _reference_of(schema: Tree) -> str:
    """Return the schema's reference, which ``allOf`` may wrap to keep a description; empty without one."""
    reference: str = schema.get("$ref") or ""
    return reference or next(filter(None, map(_reference_of, schema.get("allOf") or ())), "")


def checked(policy: ValidatingAdmissionPolicy, warnings: Sequence[Tree] = ()) -> Tree:
    """Return the policy with its status, for server-side apply. ``warnings``: type errors of its expressions.

    The UID is included, because a recreated policy may have the same generation.
    """
    checking = {"expressionWarnings": list(warnings)} if warnings else {}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name_of(policy), "uid": uid_of(policy)},
        "status": {"observedGeneration": metadata_field(policy, "generation"), "typeChecking": checking},
    }
