"""Authorizer library: ``authorizer.group('apps').resource('deployments').check('create').allowed()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.apimachinery import names
from steersman.cel.functions import Function, member
from steersman.cel.types import BOOL, STRING, object_type
from steersman.cel.values import EvalError, Opaque

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AUTHORIZER: Final = object_type("kubernetes.authorization.Authorizer", {})
PATH_CHECK: Final = object_type("kubernetes.authorization.PathCheck", {})
GROUP_CHECK: Final = object_type("kubernetes.authorization.GroupCheck", {})
RESOURCE_CHECK: Final = object_type("kubernetes.authorization.ResourceCheck", {})
DECISION: Final = object_type("kubernetes.authorization.Decision", {})
TYPES: Final = {type_.name: type_ for type_ in (AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION)}

#: Cost of a check; the limit of one evaluation allows two.
_CHECK_COST: Final = 350_000


class CheckAttributes(NamedTuple):
    """Attributes of an authorization check."""

    #: ``namespace`` and ``name`` of the service account to check; None for the user of the request.
    service_account: tuple[str, str] | None = None
    verb: str = ""
    #: Path of a non-resource request.
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


class CheckDecision(NamedTuple):
    """Decision of an authorizer."""

    allowed: bool
    reason: str = ""
    error: str = ""


class _AuthorizationCheck(Opaque):
    """A partially built authorization check."""

    __slots__ = ("attributes", "authorize")

    def __init__(self, authorize: Callable[[CheckAttributes], CheckDecision], attributes: CheckAttributes) -> None:
        self.authorize: Final = authorize
        self.attributes: Final = attributes


class AuthorizerValue(_AuthorizationCheck):
    """The authorizer of the requesting user."""

    type_name: ClassVar[str] = AUTHORIZER.name
    __slots__ = ()


class PathCheck(_AuthorizationCheck):
    """A check of a path."""

    type_name: ClassVar[str] = PATH_CHECK.name
    __slots__ = ()


class GroupCheck(_AuthorizationCheck):
    """A check of a group whose resource is not set yet."""

    type_name: ClassVar[str] = GROUP_CHECK.name
    __slots__ = ()


class ResourceCheck(_AuthorizationCheck):
    """A check of a resource."""

    type_name: ClassVar[str] = RESOURCE_CHECK.name
    __slots__ = ()


class DecisionValue(Opaque):
    """The decision of a check."""

    type_name: ClassVar[str] = DECISION.name
    __slots__ = ("decision",)

    def __init__(self, decision: CheckDecision) -> None:
        self.decision: Final = decision


def authorizer(authorize: Callable[[CheckAttributes], CheckDecision]) -> AuthorizerValue:
    """Return the ``authorizer`` variable."""
    return AuthorizerValue(authorize, CheckAttributes())


def request_resource(
    authorize: Callable[[CheckAttributes], CheckDecision], attributes: CheckAttributes
) -> ResourceCheck:
    """Return ``authorizer.requestResource``: a check of the request's own resource."""
    return ResourceCheck(authorize, attributes)


def _with_attribute(
    check_type: type[_AuthorizationCheck], part: str
) -> Callable[[_AuthorizationCheck, str], _AuthorizationCheck]:
    return lambda pending, value: check_type(
        pending.authorize, CheckAttributes(**{**pending.attributes._asdict(), part: value})
    )


def _with_text(
    check_type: type[_AuthorizationCheck], part: str
) -> Callable[[_AuthorizationCheck, str], _AuthorizationCheck]:
    """Return a function that sets a part, which must not be empty."""
    narrow = _with_attribute(check_type, part)

    def compute(pending: _AuthorizationCheck, value: str) -> _AuthorizationCheck:
        if not value.strip():
            raise EvalError(f"{part} must not be empty")
        return narrow(pending, value)

    return compute


def _service_account(pending: _AuthorizationCheck, namespace: str, name: str) -> AuthorizerValue:
    if names.check_dns1123_subdomain(name):
        raise EvalError("Invalid service account name")
    if names.check_dns1123_label(namespace):
        raise EvalError("Invalid service account namespace")
    return AuthorizerValue(pending.authorize, pending.attributes._replace(service_account=(namespace, name)))


def _check(pending: _AuthorizationCheck, verb: str) -> DecisionValue:
    return DecisionValue(pending.authorize(pending.attributes._replace(verb=verb)))


def _check_cost(_: Sequence[Any], __: Any) -> int:
    return _CHECK_COST


def functions() -> Iterator[Function]:
    """Return the functions of the library."""
    account = member("authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER, _service_account)
    yield Function("serviceAccount", [account])
    path = member("authorizer_path", (AUTHORIZER, STRING), PATH_CHECK, _with_text(PathCheck, "path"))
    yield Function("path", [path])
    group = member("authorizer_group", (AUTHORIZER, STRING), GROUP_CHECK, _with_attribute(GroupCheck, "group"))
    yield Function("group", [group])
    resource = _with_text(ResourceCheck, "resource")
    yield Function("resource", [member("groupcheck_resource", (GROUP_CHECK, STRING), RESOURCE_CHECK, resource)])
    for name, field in (
        ("subresource", "subresource"),
        ("namespace", "namespace"),
        ("name", "name"),
        ("fieldSelector", "field_selector"),
        ("labelSelector", "label_selector"),
    ):
        narrow = _with_attribute(ResourceCheck, field)
        label = f"resourcecheck_{name.lower()}"
        yield Function(name, [member(label, (RESOURCE_CHECK, STRING), RESOURCE_CHECK, narrow)])
    yield Function(
        "check",
        [
            member("pathcheck_check", (PATH_CHECK, STRING), DECISION, _check),
            member("resourcecheck_check", (RESOURCE_CHECK, STRING), DECISION, _check),
        ],
        cost=_check_cost,
    )
    answers: dict[str, tuple[Any, Callable[[DecisionValue], Any]]] = {
        "errored": (BOOL, lambda decision: bool(decision.decision.error)),
        "error": (STRING, lambda decision: decision.decision.error),
        "allowed": (BOOL, lambda decision: decision.decision.allowed),
        "reason": (STRING, lambda decision: decision.decision.reason),
    }
    for name, (type_, read) in answers.items():
        yield Function(name, [member(f"decision_{name}", (DECISION,), type_, read)])
