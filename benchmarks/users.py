"""Requests of realistic users: a client certificate or a bound token, and permissions by RBAC.

Each is measured in turns with the static token of ``system:masters``, which takes the shortest path through the
filters, and with the bare handler.
"""

from __future__ import annotations

import dataclasses
import http.client
import itertools
import json
import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from benchmarks.client import Target, Template
from benchmarks.rates import (
    NAMESPACE,
    config_map,
    fill,
    in_turns,
    loop_ratio,
    median_loop_micros,
    median_rate,
    pod,
    rate,
    ratio,
)
from benchmarks.servers import api_server, bare_server
from steersman.asynckit.certificates import Pems, make_client

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.client import Result
    from benchmarks.rates import Report
    from benchmarks.servers import Server

_RBAC = f"/apis/rbac.authorization.k8s.io/v1{NAMESPACE.removeprefix('/api/v1')}"
_GROUP = "rbac.authorization.k8s.io"
_USER, _TEAM, _ACCOUNT = "jane", "developers", "worker"
#: Target: share of the rate of the static token.
_SHARE_MIN = 0.93


def call(target: Target, method: str, path: str, body: object = None) -> Any:
    """Send one request and return the decoded response."""
    connection = http.client.HTTPSConnection(target.host, target.port, context=ssl._create_unverified_context())
    headers = {"authorization": f"Bearer {target.token}", "content-type": "application/json"}
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {path}: {answer.status} {content.decode()}")
    return json.loads(content)


def prepare(server: Server) -> None:
    """Create the service accounts of pods, and a role that both users have."""
    admin = server.target
    for account in ("default", _ACCOUNT):
        call(admin, "POST", f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": account}})
    rule = {"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["create", "get", "list", "watch"]}
    call(admin, "POST", f"{_RBAC}/roles", {"metadata": {"name": "developer"}, "rules": [rule]})
    subjects = [
        {"apiGroup": _GROUP, "kind": "Group", "name": _TEAM},
        {"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": "default"},
    ]
    role = {"apiGroup": _GROUP, "kind": "Role", "name": "developer"}
    binding = {"metadata": {"name": "developers"}, "roleRef": role, "subjects": subjects}
    call(admin, "POST", f"{_RBAC}/rolebindings", binding)


def with_certificate(server: Server) -> Target:
    """Return the target of a user in a group, with a certificate of the server's CA and no token."""
    pki = server.directory / "data" / "pki"
    authority = Pems((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
    client = make_client(_USER, [_TEAM], authority, now=datetime.now(UTC), life=timedelta(days=1))
    file = server.directory / "user.pem"
    file.write_bytes(client.certificate + client.key)
    return dataclasses.replace(server.target, token="", certificate=file)


def with_bound_token(server: Server) -> Target:
    """Return the target of a service account, with a token bound to a pod as the kubelet requests it."""
    spec = {"serviceAccountName": _ACCOUNT, "containers": [{"name": "main", "image": "worker"}]}
    bound_pod = call(server.target, "POST", f"{NAMESPACE}/pods", {"metadata": {"name": _ACCOUNT}, "spec": spec})
    bound = {"apiVersion": "v1", "kind": "Pod", "name": _ACCOUNT, "uid": bound_pod["metadata"]["uid"]}
    request = {"spec": {"boundObjectRef": bound, "audiences": [], "expirationSeconds": 3600}}
    review = call(server.target, "POST", f"{NAMESPACE}/serviceaccounts/{_ACCOUNT}/token", request)
    return dataclasses.replace(server.target, token=review["status"]["token"])


def measure_users(report: Report, seconds: float, rounds: int) -> None:
    with api_server() as server:
        prepare(server)
        users = {
            "static token": server.target,
            "client certificate": with_certificate(server),
            "service account": with_bound_token(server),
        }
        fill(server.target, f"{NAMESPACE}/configmaps", config_map, 1, "get")
        with bare_server(server.directory / "data" / "pki", small_bytes=600, large_bytes=600) as bare:
            _compare(report, "GET", _gets(users, seconds), _bare_gets(bare, seconds), rounds)
            for kind, path, make in (("ConfigMap", "configmaps", config_map), ("Pod", "pods", pod)):
                posts = _posts(users, f"{NAMESPACE}/{path}", make, seconds)
                _compare(report, f"POST {kind}", posts, _bare_posts(bare, seconds), rounds)


def _compare(
    report: Report,
    label: str,
    measures: dict[str, Callable[[], Result]],
    measure_bare: Callable[[], Result],
    rounds: int,
) -> None:
    results = in_turns({**measures, "bare": measure_bare}, rounds)
    static, bare = results["static token"], results["bare"]
    for user in measures:
        mine = results[user]
        text = f"{median_rate(mine):8.0f}/s  {ratio(mine, bare):6.1%} of bare  {median_loop_micros(mine):5.1f} µs of the loop"
        if mine is static:
            report.line(f"{label}, {user}", text)
            continue
        share = ratio(mine, static)
        text = f"{text} ({loop_ratio(mine, static):.2f} × static)  {share:6.1%} of static (≥ 93 %)"
        report.line(f"{label}, {user}", text, is_met=share >= _SHARE_MIN)


def _gets(users: dict[str, Target], seconds: float) -> dict[str, Callable[[], Result]]:
    def measure(user: Target) -> Callable[[], Result]:
        request = user.request("GET", f"{NAMESPACE}/configmaps/get-0")
        return lambda: rate(user, lambda: request, seconds)

    return {name: measure(user) for name, user in users.items()}


def _posts(
    users: dict[str, Target], path: str, make: Callable[[str], bytes], seconds: float
) -> dict[str, Callable[[], Result]]:
    counter = itertools.count()

    def measure(user: Target) -> Callable[[], Result]:
        template = Template(user, path, make)
        return lambda: rate(user, lambda: template.request(b"u-%d" % next(counter)), seconds)

    return {name: measure(user) for name, user in users.items()}


def _bare_gets(bare: Target, seconds: float) -> Callable[[], Result]:
    request = bare.request("GET", "/small")
    return lambda: rate(bare, lambda: request, seconds)


def _bare_posts(bare: Target, seconds: float) -> Callable[[], Result]:
    request = bare.request("POST", "/small", config_map("post-0"))
    return lambda: rate(bare, lambda: request, seconds)
