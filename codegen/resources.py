"""Table of groups and resources, in the format of `steersman.schema.resources`."""

from __future__ import annotations

from typing import Any

from codegen.sources import ApiMethod, api_methods, overlay

Row = dict[str, Any]


def resource_table(kinds: dict[tuple[str, str, str], str]) -> dict[str, Any]:
    """Return groups in discovery order, and every served resource; `kinds` names the definitions."""
    extra = overlay("resources")
    groups = sorted(extra["groups"], key=lambda group: (-group["priority"], group["name"]))
    methods = api_methods()
    rows = [
        _resource(method, methods=methods, extra=extra, kinds=kinds)
        for group in groups
        for version in group["versions"]
        for method in methods
        if method.parent == (group["name"], version) and not method.action
    ]
    modules = _modules(kinds)
    return {
        "groups": [
            {
                "name": group["name"],
                "priority": group["priority"],
                "versions": [
                    {"name": version, "priority": priority, "module": modules[group["name"], version]}
                    for version, priority in group["versions"].items()
                ],
            }
            for group in groups
        ],
        "resources": sorted(rows, key=lambda row: (row["group"], row["version"], row["name"])),
    }


def _modules(kinds: dict[tuple[str, str, str], str]) -> dict[tuple[str, str], str]:
    """Return group and version → prefix of its definitions' names."""
    return {
        (group, version): definition.rpartition(".")[0]
        for (group, version, _), definition in kinds.items()
        if ".meta." not in definition
    }


def _resource(
    method: ApiMethod, *, methods: list[ApiMethod], extra: dict[str, Any], kinds: dict[tuple[str, str, str], str]
) -> Row:
    name = f"{method.plural}.{method.group}" if method.group else method.plural
    verbs = extra["verbs"].get(name, method.verbs)
    row: Row = {
        "group": method.group,
        "version": method.version,
        "name": method.plural,
        "kind": method.kind,
        "singular": method.kind.lower(),
        "namespaced": method.namespaced,
        "verbs": list(verbs),
        "short_names": extra["short_names"].get(name, []),
        "categories": [category for category, members in extra["categories"].items() if name in members],
        "subresources": _subresources(method, methods=methods, added=extra["subresources"].get(name, {})),
        "definition": kinds[method.group, method.version, method.kind],
    }
    if "watch" in verbs:
        row["key_prefix"] = extra["key_prefixes"].get(name, f"/registry/{method.plural}")
        row["storage_api_version"] = extra["storage_versions"].get(name) or _preferred(method, extra)
        if name in extra["stored_versions"]:
            row["stored_api_version"] = extra["stored_versions"][name]
    return {key: value for key, value in row.items() if value not in ([], "") or key in ("group", "verbs")}


def _preferred(method: ApiMethod, extra: dict[str, Any]) -> str:
    """Return the first version of the resource's group, as in `apiVersion`."""
    versions = next(group["versions"] for group in extra["groups"] if group["name"] == method.group)
    version = next(iter(versions))
    return f"{method.group}/{version}" if method.group else version


def _subresources(method: ApiMethod, *, methods: list[ApiMethod], added: dict[str, Row]) -> list[Row]:
    rows: dict[str, Row] = {name: {"name": name, **row} for name, row in added.items()}
    for child in methods:
        if child.action and (child.parent, child.plural) == ((method.group, method.version), method.plural):
            row: Row = {"name": child.action, "kind": child.kind, "verbs": list(child.verbs)}
            if (child.group, child.version) != child.parent:
                row |= {"group": child.group, "version": child.version}
            rows[child.action] = row
    return [rows[name] for name in sorted(rows)]
