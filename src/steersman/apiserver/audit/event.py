"""What is recorded of one request: ``audit.k8s.io/v1 Event`` as a tree, stage by stage (upstream's ``pkg/audit``)."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.codec import encode
from steersman.apimachinery.gotext import quote
from steersman.apiserver.audit.bodies import IDENTIFIED, RequestBody, ResponseBody, without_managed_fields
from steersman.apiserver.audit.policy import API_VERSION, PANIC, REQUEST_RECEIVED
from steersman.apiserver.request import Annotations, AuditLevel, UserInfo

if TYPE_CHECKING:
    from datetime import datetime

    from steersman.apiserver.audit.policy import Outcome
    from steersman.apiserver.http import Request

    Tree = dict[str, Any]

_LEVEL_NAMES: Final = {
    AuditLevel.METADATA: "Metadata",
    AuditLevel.REQUEST: "Request",
    AuditLevel.REQUEST_RESPONSE: "RequestResponse",
}
_USER_AGENT_MAX: Final = 1024
_TRUNCATED: Final = "...TRUNCATED"
#: Noted of events that lost their objects because they were too large.
TRUNCATED_KEY: Final = "audit.k8s.io/truncated"
_STATUS: Final = re.compile(rb'\{\s*"kind":\s*"Status"')
#: What is taken over from a Status; the rest may be of any size.
_STATUS_FIELDS: Final = ("status", "message", "reason", "details")


class AuditEvent:
    """One request under way. ``tree`` tells it at any stage; the answer is added when it is there."""

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
        """``user`` is who has been authenticated; ``request.user`` may become another one."""
        self._request: Final = request
        self._impersonator: Final = user
        self._outcome: Final = outcome
        self._received: Final = received
        self.notes: Final = request.annotations or Annotations()
        #: What the client sent and what it got, as far as they are known.
        self.request_body: RequestBody | None = None
        self.response_body: ResponseBody | None = None
        #: The answer as a Status, without ``metadata``; None before there is one.
        self.status: Tree | None = None

    @property
    def level(self) -> AuditLevel:
        """How much of the request is recorded."""
        return self._outcome.level

    def omits(self, stage: str) -> bool:
        """Whether the policy leaves that stage out."""
        return stage in self._outcome.omit_stages

    def answered(self, code: int, status: Tree | None = None) -> None:
        """What the client was told; ``status`` when that was a Status."""
        told: Tree = {} if status is None else {name: status[name] for name in _STATUS_FIELDS if name in status}
        told["code"] = code
        self.status = told

    def tree(self, stage: str, *, now: datetime) -> Tree:
        """The event of a stage, its fields in upstream's order."""
        request = self._request
        tree: Tree = {
            "kind": "Event",
            "apiVersion": API_VERSION,
            "level": _LEVEL_NAMES[self.level],
            "auditID": request.audit_id,
            "stage": stage,
            "requestURI": _uri(request),
            "verb": request.info.verb,
            "user": _user_tree(self._impersonator),
        }
        user = getattr(request, "user", self._impersonator)
        if user is not self._impersonator:
            tree["impersonatedUser"] = _user_tree(user)
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
            sent = body.json()
            if sent is not None:
                tree["requestObject"] = without_managed_fields(sent) if omit and not body.is_patch else sent
        if self.level >= AuditLevel.REQUEST_RESPONSE and self.response_body is not None and stage != PANIC:
            got = self.response_body.json()
            if got is not None:
                tree["responseObject"] = without_managed_fields(got) if omit else got


def _put(tree: Tree, name: str, value: object) -> None:
    if value:
        tree[name] = value


def _uri(request: Request) -> str:
    path = request.scope.get("raw_path") or request.path.encode("utf-8", "surrogateescape")
    query = request.raw_query
    return (path.partition(b"?")[0] + (b"?" + query if query else b"")).decode("utf-8", "replace")


def _user_tree(user: UserInfo) -> Tree:
    tree: Tree = {}
    _put(tree, "username", user.name)
    _put(tree, "uid", user.uid)
    _put(tree, "groups", list(user.groups))
    _put(tree, "extra", {key: list(values) for key, values in user.extra.items()})
    return tree


def _user_agent(request: Request) -> str:
    agent = request.header(b"user-agent")
    return agent if len(agent) <= _USER_AGENT_MAX else agent[:_USER_AGENT_MAX] + _TRUNCATED


def source_ips(request: Request) -> list[str]:
    """Where the request comes from, as the proxies tell that it passed, and the last of them (``SourceIPs``)."""
    ips = [ip for part in request.header(b"x-forwarded-for").split(",") if (ip := _ip(part))]
    real = _ip(request.header(b"x-real-ip"))
    if real and real not in ips:
        ips.append(real)
    client = request.scope.get("client")
    remote = _ip(client[0]) if client else ""
    if remote and (not ips or ips[-1] != remote):
        ips.append(remote)
    return ips


@lru_cache(maxsize=1024)
def _ip(text: str) -> str:
    """The address in its usual form; empty for what is none."""
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        return ""


def _object_ref(request: Request, body: RequestBody | None) -> Tree:
    info = request.info
    identity = IDENTIFIED if body is None else body.identity()
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


def micro_time(moment: datetime) -> str:
    """As ``metav1.MicroTime`` is written."""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def json_line(tree: Tree) -> bytes:
    """``--audit-log-format=json``."""
    return encode(tree) + b"\n"


def legacy_line(tree: Tree) -> bytes:
    """``--audit-log-format=legacy``: one line of text, without objects (``EventString``)."""
    user, other = tree["user"], tree.get("impersonatedUser")
    ips, status = tree.get("sourceIPs"), tree.get("responseStatus")
    told = {
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
    text = " ".join(f"{name}={value}" for name, value in told.items())
    return f"{tree['requestReceivedTimestamp']} AUDIT: {text}\n".encode()


def _quoted(words: list[str] | None, otherwise: str) -> str:
    return ",".join(map(quote, words)) if words else quote(otherwise)


def fitted(tree: Tree, *, size_max_bytes: int) -> Tree | None:
    """The event, without its objects when it is larger; None when even that is too large (``plugin/buffered/truncate``)."""
    if len(encode(tree)) <= size_max_bytes:
        return tree
    small = {name: value for name, value in tree.items() if name not in ("requestObject", "responseObject")}
    small["annotations"] = {**tree.get("annotations", {}), TRUNCATED_KEY: "true"}
    return small if len(encode(small)) <= size_max_bytes else None


def is_status(body: bytes) -> bool:
    """Whether an answer is a Status, as this server writes it, for machines or for people."""
    return _STATUS.match(body) is not None


decode_status: Final = msgspec.json.Decoder(dict[str, Any]).decode
