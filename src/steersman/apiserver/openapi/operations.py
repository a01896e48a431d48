"""Operations of a resource, with upstream's operation IDs: ``readCoreV1NamespacedPod``, ``listAppsV1Namespaced…``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    #: Group, version and kind → the definition's name (``io.k8s.api.core.v1.Pod``), empty when the kind has none.
    DefinitionOf = Callable[[str, str, str], str]

    from steersman.schema.resources import Resource, Subresource

#: Query parameters that go with each action, in upstream's order.
LIST_PARAMETERS = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch",
)  # fmt: skip
WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")
DELETE_PARAMETERS = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
    "propagationPolicy",
)  # fmt: skip
LOG_PARAMETERS = (
    "container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous", "sinceSeconds", "stream",
    "tailLines", "timestamps",
)  # fmt: skip
EXEC_PARAMETERS = ("command", "container", "stderr", "stdin", "stdout", "tty")

_CONNECT_METHODS = {
    "attach": ("GET", "POST"),
    "exec": ("GET", "POST"),
    "portforward": ("GET", "POST"),
    "proxy": ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"),
}
_CONNECT_PARAMETERS = {
    "attach": EXEC_PARAMETERS[1:],
    "exec": EXEC_PARAMETERS,
    "portforward": ("ports",),
    "proxy": ("path",),
}
_CONNECT_OPTIONS_KIND = {
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "exec"): "PodExecOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}


#: Media types of request bodies. Custom kinds have no strategic merge patch: clients choose the patch type by this list
#: (kubectl: ``gvkSupportsPatchOpenAPIV3`` and ``GetConsumes``). Upstream: ``registerResourceHandlers`` for built-in kinds,
#: apiextensions' ``buildRoute`` for custom ones.
ANY_TYPE = ("*/*",)
JSON_TYPE = ("application/json",)
CUSTOM_TYPES = ("application/json", "application/yaml")
#: Media types of responses about built-in kinds, and of their watches.
ALL_TYPES = (*CUSTOM_TYPES, "application/vnd.kubernetes.protobuf")
STREAM_TYPES = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
CUSTOM_PATCH_TYPES = tuple(name for name in PATCH_TYPES if "strategic" not in name)


class Operation(msgspec.Struct, frozen=True):
    """One HTTP method on one path."""

    method: str
    path: str
    operation_id: str
    description: str
    #: ``x-kubernetes-action``; empty for non-resource paths.
    action: str
    tag: str
    #: Group, version and kind that the call is about.
    gvk: tuple[str, str, str] | None = None
    query: tuple[str, ...] = ()
    #: Definition of the request's body; None when there is none.
    body: str | None = None
    #: Media types of the request's body.
    consumes: tuple[str, ...] = ANY_TYPE
    #: Definition of the response; ``string`` for plain text.
    answer: str = ""
    codes: tuple[int, ...] = (200, 401)
    #: Media types of the response.
    produces: tuple[str, ...] = ALL_TYPES


def prefix_of(group: str, version: str) -> str:
    """Return the prefix of operation IDs: ``CoreV1``, ``AppsV1``, ``RbacAuthorizationV1``."""
    short = group.removesuffix(".k8s.io") if group else "core"
    words = short.replace("-", ".").split(".")
    return "".join(w[:1].upper() + w[1:] for w in words) + version[:1].upper() + version[1:]


def tag_of(group: str, version: str) -> str:
    """Return the tag: ``core_v1``, ``rbacAuthorization_v1``."""
    name = prefix_of(group, "")
    return f"{name[:1].lower()}{name[1:]}_{version}"


def resource_operations(resource: Resource, definition_of: DefinitionOf) -> Iterator[Operation]:
    """Yield the operations of a resource and its subresources."""
    yield from _Names(resource, definition_of).operations()


class _Names:
    """Operations of one resource; all names share its parts."""

    def __init__(self, resource: Resource, definition_of: DefinitionOf) -> None:
        self.resource = resource
        self.definition_of = definition_of
        self.prefix = prefix_of(resource.group, resource.version)
        self.tag = tag_of(resource.group, resource.version)
        self.root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        self.scope = "Namespaced" if resource.namespaced else ""
        self.collection = f"{self.root}/{'namespaces/{namespace}/' if resource.namespaced else ''}{resource.name}"
        self.item = self.collection + "/{name}"
        self.gvk = (resource.group, resource.version, resource.kind)
        self.definition = resource.definition or definition_of(*self.gvk)
        self.is_custom = not resource.definition

    def _operation(self, method: str, path: str, operation_id: str, action: str, **more: object) -> Operation:
        fields = {
            "description": f"{action or 'call'} {self.resource.kind}",
            "gvk": self.gvk,
            "tag": self.tag,
            "consumes": CUSTOM_TYPES if self.is_custom else ANY_TYPE,
            "produces": CUSTOM_TYPES if self.is_custom else ALL_TYPES,
        } | more
        return Operation(method, path, operation_id, action=action, **fields)  # type: ignore[arg-type]

    def operations(self) -> Iterator[Operation]:
        verbs = set(self.resource.verbs)
        yield from self._collection(verbs)
        yield from self._item(verbs)
        for subresource in self.resource.subresources:
            yield from self._subresource(subresource)
        if "watch" in verbs and not self.is_custom:
            yield from self._watches()

    def _collection(self, verbs: set[str]) -> Iterator[Operation]:
        kind = self.scope + self.resource.kind
        answer = self.definition.removesuffix(self.resource.kind) + self.resource.list_kind if self.definition else ""
        produces = CUSTOM_TYPES if self.is_custom else ALL_TYPES + STREAM_TYPES
        lists = {"query": LIST_PARAMETERS, "answer": answer, "produces": produces}
        if "list" in verbs:
            if self.resource.namespaced:
                everywhere = f"list{self.prefix}{self.resource.kind}ForAllNamespaces"
                yield self._operation("GET", f"{self.root}/{self.resource.name}", everywhere, "list", **lists)
            yield self._operation("GET", self.collection, f"list{self.prefix}{kind}", "list", **lists)
        if "create" in verbs:
            yield self._operation(
                "POST", self.collection, f"create{self.prefix}{kind}", "post", query=WRITE_PARAMETERS,
                body=self.definition, answer=self.definition, codes=(200, 201, 202, 401),
            )  # fmt: skip
        if "deletecollection" in verbs:
            query = tuple(p for p in LIST_PARAMETERS if p not in ("allowWatchBookmarks", "watch")) + DELETE_PARAMETERS
            yield self._operation(
                "DELETE", self.collection, f"delete{self.prefix}Collection{kind}", "deletecollection",
                query=LIST_PARAMETERS if self.is_custom else query,
                body=None if self.is_custom else DELETE_OPTIONS, answer=STATUS,
            )  # fmt: skip

    def _item(self, verbs: set[str]) -> Iterator[Operation]:
        kind, definition = self.scope + self.resource.kind, self.definition
        if "get" in verbs:
            yield self._operation("GET", self.item, f"read{self.prefix}{kind}", "get", answer=definition)
        if "update" in verbs:
            yield self._replace(self.item, kind, definition, self.gvk)
        if "patch" in verbs:
            yield self._patch(self.item, kind, definition, self.gvk)
        if "delete" in verbs:
            yield self._operation(
                "DELETE", self.item, f"delete{self.prefix}{kind}", "delete", query=DELETE_PARAMETERS,
                body=DELETE_OPTIONS, answer=STATUS, codes=(200, 202, 401),
            )  # fmt: skip

    def _replace(self, path: str, kind: str, definition: str, gvk: tuple[str, str, str]) -> Operation:
        return self._operation(
            "PUT", path, f"replace{self.prefix}{kind}", "put", query=WRITE_PARAMETERS, body=definition,
            answer=definition, codes=(200, 201, 401), gvk=gvk,
        )  # fmt: skip

    def _patch(self, path: str, kind: str, definition: str, gvk: tuple[str, str, str]) -> Operation:
        return self._operation(
            "PATCH", path, f"patch{self.prefix}{kind}", "patch", query=(*WRITE_PARAMETERS, "force"), body=PATCH,
            answer=definition, codes=(200, 401) if self.is_custom else (200, 201, 401), gvk=gvk,
            consumes=CUSTOM_PATCH_TYPES if self.is_custom else PATCH_TYPES,
        )  # fmt: skip

    def _subresource(self, subresource: Subresource) -> Iterator[Operation]:
        path = f"{self.item}/{subresource.name}"
        kind = f"{self.scope}{self.resource.kind}{_camel(subresource.name)}"
        if subresource.name in _CONNECT_METHODS:
            yield from self._connects(subresource.name, path, kind)
            return
        group, version = subresource.group or self.resource.group, subresource.version or self.resource.version
        gvk = (group, version, subresource.kind)
        definition = self.definition_of(*gvk)
        if self.is_custom:
            gvk = self.gvk  # also of ``scale``, so that a client does not take its patch types for those of every Scale
        if subresource.name == "log":
            yield self._operation(
                "GET", path, f"read{self.prefix}{kind}", "get", query=LOG_PARAMETERS, answer="string", gvk=self.gvk,
                produces=("text/plain", *ALL_TYPES),
            )  # fmt: skip
            return
        if "create" in subresource.verbs:
            yield self._operation(
                "POST", path, f"create{self.prefix}{kind}", "post", query=WRITE_PARAMETERS, body=definition,
                answer=definition, codes=(200, 201, 202, 401), gvk=gvk,
            )  # fmt: skip
        if "get" in subresource.verbs:
            yield self._operation("GET", path, f"read{self.prefix}{kind}", "get", answer=definition, gvk=gvk)
        if "update" in subresource.verbs:
            yield self._replace(path, kind, definition, gvk)
        if "patch" in subresource.verbs:
            yield self._patch(path, kind, definition, gvk)

    def _connects(self, name: str, path: str, kind: str) -> Iterator[Operation]:
        options = _CONNECT_OPTIONS_KIND.get((self.resource.name, name), self.resource.kind)
        gvk = (self.resource.group, self.resource.version, options)
        paths = [(path, "")] + ([(path + "/{path}", "WithPath")] if name == "proxy" else [])
        for url_path, suffix in paths:
            for method in _CONNECT_METHODS[name]:
                verb = method.capitalize()
                yield self._operation(
                    method, url_path, f"connect{self.prefix}{verb}{kind}{suffix}", "connect",
                    query=_CONNECT_PARAMETERS[name], answer="string", gvk=gvk, produces=ANY_TYPE,
                )  # fmt: skip

    def _watches(self) -> Iterator[Operation]:
        watch = self.root + "/watch"
        kind = self.scope + self.resource.kind
        more = {"query": LIST_PARAMETERS, "answer": WATCH_EVENT, "produces": ALL_TYPES + STREAM_TYPES}
        collection = self.collection.replace(self.root, watch, 1)
        if self.resource.namespaced:
            everywhere = f"watch{self.prefix}{self.resource.kind}ListForAllNamespaces"
            yield self._operation("GET", f"{watch}/{self.resource.name}", everywhere, "watchlist", **more)
        yield self._operation("GET", collection, f"watch{self.prefix}{kind}List", "watchlist", **more)
        yield self._operation("GET", collection + "/{name}", f"watch{self.prefix}{kind}", "watch", **more)


_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
DELETE_OPTIONS = _META + "DeleteOptions"
STATUS = _META + "Status"
WATCH_EVENT = _META + "WatchEvent"
PATCH = _META + "Patch"
API_RESOURCE_LIST = _META + "APIResourceList"
API_GROUP = _META + "APIGroup"
API_GROUP_LIST = _META + "APIGroupList"
API_VERSIONS = _META + "APIVersions"


def _camel(subresource: str) -> str:
    """Capitalize a subresource as upstream does, e.g. ``ephemeralcontainers`` with one capital."""
    return subresource[:1].upper() + subresource[1:]


def discovery_operations(group_versions: Iterable[tuple[str, str]]) -> Iterator[Operation]:
    """Yield the operations on non-resource paths."""

    def one(path: str, operation_id: str, tag: str, answer: str) -> Operation:
        return Operation("GET", path, operation_id, "read discovery", "", tag, answer=answer, consumes=ALL_TYPES)

    yield one("/api/", "getCoreAPIVersions", "core", API_VERSIONS)
    yield one("/apis/", "getAPIVersions", "apis", API_GROUP_LIST)
    code_version = one("/version/", "getCodeVersion", "version", "io.k8s.apimachinery.pkg.version.Info")
    yield replace(code_version, consumes=JSON_TYPE, produces=JSON_TYPE)
    name = "getServiceAccountIssuerOpenIDConfiguration"
    issuer = one("/.well-known/openid-configuration/", name, "WellKnown", "string")
    yield replace(issuer, consumes=(), produces=JSON_TYPE)
    keys = one("/openid/v1/jwks/", "getServiceAccountIssuerOpenIDKeyset", "openid", "string")
    yield replace(keys, consumes=(), produces=("application/jwk-set+json",))
    seen: set[str] = set()
    for group, version in group_versions:
        prefix = prefix_of(group, version)
        root = f"/apis/{group}/{version}/" if group else f"/api/{version}/"
        if group and group not in seen:
            seen.add(group)
            name = prefix_of(group, "")
            yield one(f"/apis/{group}/", f"get{name}APIGroup", tag_of(group, "")[:-1], API_GROUP)
        yield one(root, f"get{prefix}APIResources", tag_of(group, version), API_RESOURCE_LIST)
