"""Audit event of one request, by stage: ``audit.k8s.io/v1 Event`` as a tree. Upstream: ``pkg/audit``."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.codec import encode
from steersman.apimachinery.gotext import quote
from steersman.apimachinery.text_cache import text_cache
from steersman.apiserver.audit.bodies import NO_IDENTITY, RequestBody, ResponseBody, without_managed_fields
from steersman.apiserver.audit.policy import API_VERSION, PANIC, REQUEST_RECEIVED
from steersman.apiserver.request import Annotations, AuditLevel, UserInfo

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.audit.policy import Outcome
    from steersman.apiserver.http import Request


_LEVEL_NAMES: Final = {
    AuditLevel.METADATA: "Metadata",
    AuditLevel.REQUEST: "Request",
    AuditLevel.REQUEST_RESPONSE: "RequestResponse",
}
_USER_AGENT_MAX: Final = 1024
_TRUNCATED: Final = "...TRUNCATED"
#: Annotation of events whose objects were removed because of their size.
TRUNCATED_KEY: Final = "audit.k8s.io/truncated"
_STATUS: Final = re.compile(rb'\{\s*"kind":\s*"Status"')
#: Recorded fields of a Status; the size of the others is unbounded.
_STATUS_FIELDS: Final = ("status", "message", "reason", "details")


class AuditEvent:
    """Event of one request in progress. ``tree`` returns it for a stage; the response is added when available."""

    __slots__ = (
        "_headers",
        "_impersonator",
        "_outcome",
        "_received",
        "_request",
        "notes",
        "request_body",
        "response_body",
        "status",
    )

    def __init__(self, request: Request, user: UserInfo, outcome: Outcome, *, received: datetime) -> None:
        """``user``: the authenticated user; impersonation may change ``request.user``."""
        self._request: Final = request
        self._impersonator: Final = user
        self._outcome: Final = outcome
        self._received: Final = received
        self.notes: Final = request.annotations or Annotations()
        #: Request and response bodies, if recorded.
        self.request_body: RequestBody | None = None
        self.response_body: ResponseBody | None = None
        #: Response status without ``metadata``; None before the response.
        self.status: Tree | None = None

    @property
    def level(self) -> AuditLevel:
        """Audit level of the request."""
        return self._outcome.level

    def omits(self, stage: str) -> bool:
        """True if the policy omits the stage."""
        return stage in self._outcome.omit_stages

    def answered(self, code: int, status: Tree | None = None) -> None:
        """Record the response code, and the Status if the response is one."""
        fields: Tree = {} if status is None else {name: status[name] for name in _STATUS_FIELDS if name in status}
        fields["code"] = code
        self.status = fields

    def tree(self, stage: str, *, now: datetime) -> Tree:
        """Return the event of a stage, with fields in upstream's order."""
        request = self._request
        tree: Tree = {
            "kind": "Event",
            "apiVersion": API_VERSION,
            "level": _LEVEL_NAMES[self.level],
            "auditID": request.audit_id,
            "stage": stage,
            "requestURI": _uri(request),
            "verb": request.info.verb,
            "user": self._impersonator.tree(),
        }
        user = getattr(request, "user", self._impersonator)
        if user is not self._impersonator:
            tree["impersonatedUser"] = user.tree()
            constraint = self.notes.impersonation_constraint
            if constraint:
                tree["authenticationMetadata"] = {"impersonationConstraint": constraint}
        _put(tree, "sourceIPs", source_ips(request))
        _put(tree, "userAgent", _user_agent(request))
        body = self.request_body if stage != REQUEST_RECEIVED else None
        if request.info.is_resource:
            tree["objectRef"] = _object_ref(request, body)
        if self.status is not None and stage != REQUEST_RECEIVED:
            tree["responseStatus"] = {"metadata": {}, **self.status}
        self._put_objects(tree, stage, body)
        tree["requestReceivedTimestamp"] = micro_time(self._received)
        tree["stageTimestamp"] = micro_time(now)
        _put(tree, "annotations", dict(self.notes.values))
        return tree

    def _put_objects(self, tree: Tree, stage: str, body: RequestBody | None) -> None:
        omit = self._outcome.omit_managed_fields
        if self.level >= AuditLevel.REQUEST and body is not None:
            request_object = body.json()
            if request_object is not None:
                tree["requestObject"] = (
                    without_managed_fields(request_object) if omit and not body.is_patch else request_object
                )
        if self.level >= AuditLevel.REQUEST_RESPONSE and self.response_body is not None and stage != PANIC:
            response_object = self.response_body.json()
            if response_object is not None:
                tree["responseObject"] = without_managed_fields(response_object) if omit else response_object


def _put(tree: Tree, name: str, value: object) -> None:
    if value:
        tree[name] = value


def _uri(request: Request) -> str:
    path = request.scope.get("raw_path") or request.path.encode("utf-8", "surrogateescape")
    query = request.raw_query
    return (path.partition(b"?")[0] + (b"?" + query if query else b"")).decode("utf-8", "replace")


def _user_agent(request: Request) -> str:
    agent = request.header(b"user-agent")
    return agent if len(agent) <= _USER_AGENT_MAX else agent[:_USER_AGENT_MAX] + _TRUNCATED


def source_ips(request: Request) -> list[str]:
    """Return the source IPs from the proxies' headers and the connection. Upstream: ``SourceIPs``."""
    ips = [ip for part in request.header(b"x-forwarded-for").split(",") if (ip := _ip(part))]
    real = _ip(request.header(b"x-real-ip"))
    if real and real not in ips:
        ips.append(real)
    client = request.scope.get("client")
    remote = _ip(client[0]) if client else ""
    if remote and (not ips or ips[-1] != remote):
        ips.append(remote)
    return ips


@text_cache(1024, length_max=64)
def _ip(text: str) -> str:
    """Return the canonical address; empty for an invalid one."""
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        return ""


def _object_ref(request: Request, body: RequestBody | None) -> Tree:
    info = request.info
    identity = NO_IDENTITY if body is None else body.identity()
    tree: Tree = {}
    _put(tree, "resource", info.resource)
    _put(tree, "namespace", info.namespace or identity.namespace)
    _put(tree, "name", info.name or identity.name)
    _put(tree, "uid", identity.uid)
    _put(tree, "apiGroup", info.group)
    _put(tree, "apiVersion", info.version)
    _put(tree, "resourceVersion", identity.resource_version)
    _put(tree, "subresource", info.subresource)
    return tree


def micro_time(time: datetime) -> str:
    """Format a time as ``metav1.MicroTime``."""
    return f"{time.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def json_line(tree: Tree) -> bytes:
    """Format an event for ``--audit-log-format=json``."""
    return encode(tree) + b"\n"


def legacy_line(tree: Tree) -> bytes:
    """Format an event for ``--audit-log-format=legacy``: one line of text, without objects (``EventString``)."""
    user, other = tree["user"], tree.get("impersonatedUser")
    ips, status = tree.get("sourceIPs"), tree.get("responseStatus")
    fields = {
        "id": quote(tree["auditID"]),
        "stage": quote(tree["stage"]),
        "ip": quote(ips[0] if ips else "<unknown>"),
        "method": quote(tree["verb"]),
        "user": quote(user.get("username") or "<none>"),
        "groups": _quoted(user.get("groups"), "<none>"),
        "as": quote((other or {}).get("username") or "<self>"),
        "asgroups": _quoted((other or {}).get("groups"), "<lookup>"),
        "user-agent": quote(tree.get("userAgent", "")),
        "namespace": quote(tree.get("objectRef", {}).get("namespace") or "<none>"),
        "uri": quote(tree["requestURI"]),
        "response": f'"{status["code"] if status else "<deferred>"}"',
    }
    text = " ".join(f"{name}={value}" for name, value in fields.items())
    return f"{tree['requestReceivedTimestamp']} AUDIT: {text}\n".encode()


def _quoted(words: list[str] | None, otherwise: str) -> str:
    return ",".join(map(quote, words)) if words else quote(otherwise)


def truncated(tree: Tree, *, size_max_bytes: int) -> Tree | None:
    """Return the event within the size limit, without its objects if necessary; None if it is still too large.

    Upstream: ``plugin/buffered/truncate``.
    """
    if len(encode(tree)) <= size_max_bytes:
        return tree
    small = {name: value for name, value in tree.items() if name not in ("requestObject", "responseObject")}
    small["annotations"] = {**tree.get("annotations", {}), TRUNCATED_KEY: "true"}
    return small if len(encode(small)) <= size_max_bytes else None


def is_status(body: bytes) -> bool:
    """True if a response body is a Status, compact or indented."""
    return _STATUS.match(body) is not None


decode_status: Final = msgspec.json.Decoder(dict[str, Any]).decode
