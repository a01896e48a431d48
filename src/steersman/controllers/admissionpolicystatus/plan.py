"""Which types a policy's expressions are checked against, and what its status should say."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from steersman.client.objects import metadata_field, name_of, uid_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightkube.models.admissionregistration_v1 import ValidatingAdmissionPolicy

    from steersman.apimachinery.trees import Tree


class Matched(NamedTuple):
    """A resource that a policy names; sorts as upstream does."""

    group: str
    version: str
    resource: str


def is_checked(policy: ValidatingAdmissionPolicy) -> bool:
    """Whether this generation was looked at."""
    observed = (policy.status.observedGeneration if policy.status else None) or 0
    return (metadata_field(policy, "generation") or 0) <= observed


def matched(spec: Tree) -> list[Matched]:
    """Resources that the rules name, without subresources; a rule with a wildcard names none."""
    found: set[Matched] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if any("*" in text for text in (*groups, *versions)):
            continue
        resources = [name for name in rule.get("resources") or () if not set("*/") & set(name)]
        found.update(Matched(*names) for names in product(groups, versions, resources))
    return sorted(found)


def shown_kind(group: str, version: str, kind: str) -> str:
    """As warnings name a kind."""
    return f"{group}/{version}, Kind={kind}"


def schema_of(document: Tree, group: str, version: str, kind: str) -> Tree | None:
    """The schema of a kind in an OpenAPI v3 document; metadata, which it only refers to, is known anyway."""
    wanted = {"group": group, "version": version, "kind": kind}
    for schema in ((document.get("components") or {}).get("schemas") or {}).values():
        if wanted in (schema.get("x-kubernetes-group-version-kind") or ()):
            properties = {name: each for name, each in (schema.get("properties") or {}).items() if name != "metadata"}
            return {**schema, "properties": properties}
    return None


def checked(policy: ValidatingAdmissionPolicy, warnings: Sequence[Tree] = ()) -> Tree:
    """To be applied to this very policy; ``warnings``: about expressions that do not fit the types they are for.

    Another of its name may have the same generation: it must not be told what was found in this one.
    """
    checking = {"expressionWarnings": list(warnings)} if warnings else {}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name_of(policy), "uid": uid_of(policy)},
        "status": {"observedGeneration": metadata_field(policy, "generation"), "typeChecking": checking},
    }
