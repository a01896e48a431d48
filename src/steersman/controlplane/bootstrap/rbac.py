"""Default roles and bindings, read from ``rbac.txt`` and reconciled at every start.

As upstream, missing rules and subjects are added and others kept; objects annotated with
``rbac.authorization.kubernetes.io/autoupdate: "false"`` are not changed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.authz.policy import PolicyRule
from steersman.apiserver.authz.policy_comparator import single_permissions, uncovered
from steersman.controlplane.bootstrap.ensure import DesiredObject, ensure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.server.loopback import Loopback


_GROUP: Final = "rbac.authorization.k8s.io"
_API: Final = f"/apis/{_GROUP}/v1"
_AUTOUPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"
_AGGREGATE: Final = "rbac.authorization.k8s.io/aggregate-to-"
_TABLE: Final = Path(__file__).with_suffix(".txt")
#: Namespace of the controllers' service accounts.
_ACCOUNTS: Final = "kube-system"
_CONTROLLER: Final = "system:controller:"


#: Role of the migration controller, which exists if its API is served. Upstream: the feature gate StorageVersionMigrator.
_MIGRATIONS: Final = """
controller storage-version-migrator-controller
    * | * : get list patch
    storagemigration.k8s.io | storageversionmigrations : get list watch
    storagemigration.k8s.io | storageversionmigrations/status : patch update
"""


async def bootstrap_roles(client: Loopback, *, with_migrations: bool = False) -> None:
    """Create and repair the default roles and bindings. Raises RuntimeError."""
    objects = _default_policy(with_migrations=with_migrations)
    # roles first, so that no binding ever lacks its role
    for bindings in (False, True):
        chosen = [tree for tree in objects if ("roleRef" in tree) is bindings]
        await ensure(client, [DesiredObject(_collection(tree), tree, _repair) for tree in chosen])


@cache
def _default_policy(*, with_migrations: bool) -> list[Tree]:
    """Return the default objects, which must not be changed; cached, because they are compared every minute."""
    text = _TABLE.read_text(encoding="utf-8")
    return read_policy(text + _MIGRATIONS if with_migrations else text)


def system_node_rules() -> list[PolicyRule]:
    """Return the rules of the role ``system:node``, which the node authorizer uses whatever is stored."""
    objects = _default_policy(with_migrations=False)
    role = next(tree for tree in objects if tree["kind"] == "ClusterRole" and tree["metadata"]["name"] == "system:node")
    return [msgspec.convert(rule, PolicyRule) for rule in role["rules"]]


def _collection(tree: Tree) -> str:
    namespace = tree["metadata"].get("namespace")
    plural = f"{tree['kind'].lower()}s"
    return f"{_API}/namespaces/{namespace}/{plural}" if namespace else f"{_API}/{plural}"


# -- the table ---------------------------------------------------------------------------------------------------------


def read_policy(text: str) -> list[Tree]:
    """Parse the objects of a table; its header documents the format."""
    objects: list[Tree] = []
    rules: list[Tree] = []
    for line in text.splitlines():
        if line.startswith("    "):
            rules.append(_rule(line.strip()))
        elif line and not line.startswith("#"):
            kind, _, rest = line.partition(" ")
            if kind.endswith("Binding"):
                objects.append(_binding(kind, rest))
                continue
            rules = []
            if kind == "controller":
                objects.append(_role("ClusterRole", f"{_CONTROLLER}{rest}", rules))
                objects.append(
                    _binding("ClusterRoleBinding", f"{_CONTROLLER}{rest} : ServiceAccount={_ACCOUNTS}/{rest}")
                )
            else:
                objects.append(_role(kind, rest, rules))
    for tree in objects:
        if tree.get("rules") == []:
            tree["rules"] = None  # aggregated roles
    return objects


def _rule(line: str) -> Tree:
    resource_rule, _, verbs = line.rpartition(" : ")
    groups, bar, resources = resource_rule.partition(" | ")
    if not bar:
        return {"verbs": verbs.split(), "nonResourceURLs": resource_rule.split()}
    resources, _, names = resources.partition(" / ")
    rule: Tree = {
        "verbs": verbs.split(),
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
    }
    if names:
        rule["resourceNames"] = names.split()
    return rule


def _role(kind: str, line: str, rules: list[Tree]) -> Tree:
    """Return a role; ``rules`` are filled later."""
    name, *options = line.split()
    tree = _object(kind, name)
    for option in options:
        key, _, value = option.partition("=")
        if key == "part-of":
            tree["metadata"]["labels"][_AGGREGATE + value] = "true"
        else:
            tree["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {_AGGREGATE + value: "true"}}]}
    return {**tree, "rules": rules}


def _binding(kind: str, line: str) -> Tree:
    head, _, subject_words = f"{line} ".partition(" : ")
    name, *options = head.split()
    tree = _object(kind, name)
    role = options[0].removeprefix("of=") if options else tree["metadata"]["name"]
    tree["roleRef"] = {"apiGroup": _GROUP, "kind": kind.removesuffix("Binding"), "name": role}
    if subjects := [_subject(*word.split("=", 1)) for word in subject_words.split()]:
        tree["subjects"] = subjects
    return tree


def _subject(kind: str, name: str) -> Tree:
    if kind != "ServiceAccount":
        return {"kind": kind, "apiGroup": _GROUP, "name": name}
    namespace, _, name = name.partition("/")
    return {"kind": kind, "name": name, "namespace": namespace}


def _object(kind: str, path: str) -> Tree:
    namespace, _, name = path.rpartition("/")
    metadata: Tree = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {_AUTOUPDATE: "true"},
    }
    if namespace:
        metadata["namespace"] = namespace
    return {"kind": kind, "apiVersion": f"{_GROUP}/v1", "metadata": metadata}


# -- repair
# -------------------------------------------------------------------------------------------------------------


def _repair(existing: Tree, desired: Tree) -> Tree | None:
    """Return the object to store instead of ``existing``; None if up to date."""
    annotations = existing["metadata"].get("annotations") or {}
    if annotations.get(_AUTOUPDATE) == "false":
        return None
    if existing.get("roleRef") != desired.get("roleRef"):
        return desired  # roleRef is immutable, so the binding is recreated
    repaired = {**existing, "metadata": {**existing["metadata"]}}
    for name in ("labels", "annotations"):
        repaired["metadata"][name] = {**desired["metadata"][name], **(existing["metadata"].get(name) or {})}
    if desired.get("rules") and desired["rules"] != existing.get("rules") and "aggregationRule" not in desired:
        rules = existing.get("rules") or ()
        repaired["rules"] = [*rules, *_missing(rules, desired["rules"])]
    if desired.get("subjects"):
        repaired["subjects"] = _joined(existing.get("subjects"), desired["subjects"])
    if "aggregationRule" in desired:
        selectors = (existing.get("aggregationRule") or {}).get("clusterRoleSelectors")
        wanted_selectors = desired["aggregationRule"]["clusterRoleSelectors"]
        repaired["aggregationRule"] = {"clusterRoleSelectors": _joined(selectors, wanted_selectors)}
    return None if repaired == existing else repaired


def _joined(existing: list[Tree] | None, desired: list[Tree]) -> list[Tree]:
    return [*(existing or ()), *(item for item in desired if item not in (existing or ()))]


def _missing(existing: Iterable[Tree], desired: Iterable[Tree]) -> Iterator[Tree]:
    """Yield the single permissions of ``desired`` that no existing rule covers, in order.

    Upstream: ``computeReconciledRole`` of component-helpers/auth/rbac/reconciliation.
    """
    held = [msgspec.convert(rule, PolicyRule) for rule in existing]
    for tree in desired:
        rule = msgspec.convert(tree, PolicyRule)
        missing = set(uncovered(held, [rule]))
        for permission in single_permissions(rule) if missing else ():
            if permission in missing:
                yield {name: list(value) for name, value in msgspec.to_builtins(permission).items() if value}
