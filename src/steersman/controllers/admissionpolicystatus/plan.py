"""Types that a policy's expressions are checked against, and the policy's status. Pure rules."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.client.objects import metadata_field, name_of, uid_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightkube.models.admissionregistration_v1 import ValidatingAdmissionPolicy

    from steersman.apimachinery.trees import Tree


#: Maximum number of kinds of a rule; rules after one that reaches it are ignored.
TYPES_MAX: Final = 10


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
    """Return the schema of a kind in an OpenAPI v3 document, without that of metadata."""
    gvk = {"group": group, "version": version, "kind": kind}
    for schema in ((document.get("components") or {}).get("schemas") or {}).values():
        if gvk in (schema.get("x-kubernetes-group-version-kind") or ()):
            properties = {
                name: property_schema
                for name, property_schema in (schema.get("properties") or {}).items()
                if name != "metadata"
            }
            return {**schema, "properties": properties}
    return None


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
