"""Authorization mode ``ABAC``: a file of policies, one JSON object per line.

Upstream: pkg/auth/authorizer/abac/abac.go, pkg/apis/abac/{v0,v1beta1}/conversion.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.codec import DecodeError, decode_json
from steersman.apimachinery.gotext import quote
from steersman.apiserver.authn.interface import AUTHENTICATED_GROUP
from steersman.apiserver.authz.interface import ALLOW, Decision, Rules, Verdict
from steersman.apiserver.authz.policy import PolicyRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestInfo, UserInfo

_GROUP: Final = "abac.authorization.kubernetes.io"
_V0, _V1BETA1 = f"{_GROUP}/v0", f"{_GROUP}/v1beta1"
_KIND: Final = "Policy"
_ALL: Final = "*"
_READ_ONLY_VERBS: Final = ("get", "list", "watch")
_NO_MATCH: Final = Decision(Verdict.NO_OPINION, "No policy matched.")
_TEXTS: Final = ("user", "group", "apiGroup", "resource", "namespace", "nonResourcePath")


class PolicyFileError(ValueError):
    """A malformed line of a policy file; the text names file and line."""


class ABACPolicy(NamedTuple):
    """Policy; ``*`` stands for all values."""

    user: str = ""
    group: str = ""
    read_only: bool = False
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""

    def applies_to(self, user: UserInfo) -> bool:
        """Report whether the policy is about the user."""
        if self.user and self.user not in (_ALL, user.name):
            return False
        if self.group and self.group != _ALL and self.group not in user.groups:
            return False
        return bool(self.user or self.group)

    def allows(self, info: RequestInfo) -> bool:
        """Report whether the policy allows the request, for users that it is about."""
        if self.read_only and info.verb not in _READ_ONLY_VERBS:
            return False
        if info.is_resource:
            return (
                self.namespace in (_ALL, info.namespace)
                and self.resource in (_ALL, info.resource)
                and self.api_group in (_ALL, info.group)
            )
        if self.path in (_ALL, info.path):
            return True
        return self.path.endswith(_ALL) and info.path.startswith(self.path.rstrip(_ALL))


class PolicyList:
    """``Authorizer`` and ``RuleResolver`` of a policy file."""

    def __init__(self, policies: Sequence[ABACPolicy]) -> None:
        self._policies: Final = policies

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision:
        """Allow if a policy matches; otherwise no opinion."""
        for policy in self._policies:
            if policy.applies_to(user) and policy.allows(info):
                return ALLOW
        return _NO_MATCH

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """Return the rules of all policies about the user in a namespace."""
        rules: list[PolicyRule] = []
        for policy in self._policies:
            if not policy.applies_to(user) or policy.namespace not in (_ALL, namespace):
                continue
            verbs = _READ_ONLY_VERBS if policy.read_only else (_ALL,)
            if policy.resource:
                rules.append(PolicyRule(verbs=verbs, api_groups=(policy.api_group,), resources=(policy.resource,)))
            if policy.path:
                rules.append(PolicyRule(verbs=verbs, non_resource_urls=(policy.path,)))
        return Rules(tuple(rules))


def read_policies(data: bytes, path: str) -> tuple[list[ABACPolicy], int]:
    """Return the policies of a file, and how many have no version. Raises ``PolicyFileError``.

    Empty lines and those that begin with ``#`` are skipped.
    """
    policies: list[ABACPolicy] = []
    unversioned = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(b"#"):
            continue
        try:
            policy, has_version = _policy_of(decode_json(stripped))
        except (DecodeError, PolicyFileError) as error:
            text = line.decode(errors="replace").rstrip("\r")
            raise PolicyFileError(f"error reading policy file {path}, line {number}: {text}: {error}") from None
        policies.append(policy)
        unversioned += not has_version
    return policies, unversioned


def _policy_of(tree: Any) -> tuple[ABACPolicy, bool]:
    """Return a policy and whether it has a version. Raises ``PolicyFileError``."""
    if not isinstance(tree, dict):
        raise PolicyFileError("a policy must be a JSON object")
    api_version, kind = _text(tree, "apiVersion", ""), _text(tree, "kind", "")
    if (kind or _KIND) != _KIND or api_version not in ("", _V0, _V1BETA1):
        raise PolicyFileError(f"no kind {quote(kind or _KIND)} is registered for version {quote(api_version)}")
    if api_version != _V1BETA1:
        return _from_v0(_fields(tree, "")), bool(api_version)
    if not kind:
        raise PolicyFileError("Object 'Kind' is missing")
    spec = tree.get("spec")
    if spec is not None and not isinstance(spec, dict):
        raise PolicyFileError("spec must be an object")
    return _for_authenticated(_fields(spec or {}, "spec.")), True


def _fields(tree: Tree, prefix: str) -> ABACPolicy:
    read_only = tree.get("readonly")
    if read_only is not None and not isinstance(read_only, bool):
        raise PolicyFileError(f"{prefix}readonly must be a boolean")
    user, group, api_group, resource, namespace, path = (_text(tree, name, prefix) for name in _TEXTS)
    return ABACPolicy(user, group, bool(read_only), api_group, resource, namespace, path)


def _text(tree: Tree, name: str, prefix: str) -> str:
    value: Any = tree.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise PolicyFileError(f"{prefix}{name} must be a string")
    return value


def _from_v0(policy: ABACPolicy) -> ABACPolicy:
    """Return a policy of the unversioned form, in which absent fields stand for all values."""
    if not policy.user and not policy.group:
        policy = policy._replace(group=AUTHENTICATED_GROUP)
    has_path = not policy.namespace and not policy.resource
    return _for_authenticated(
        policy._replace(
            api_group=_ALL,
            namespace=policy.namespace or _ALL,
            resource=policy.resource or _ALL,
            path=_ALL if has_path else "",
        )
    )


def _for_authenticated(policy: ABACPolicy) -> ABACPolicy:
    """Return the policy with all authenticated users in place of ``*``."""
    if _ALL in (policy.user, policy.group):
        return policy._replace(user="", group=AUTHENTICATED_GROUP)
    return policy
