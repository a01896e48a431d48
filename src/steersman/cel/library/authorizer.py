"""Kubernetes' authorizer library: ``authorizer.group('apps').resource('deployments').check('create').allowed()``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from steersman.cel.functions import Function, member
from steersman.cel.types import BOOL, STRING, object_type
from steersman.cel.values import Opaque

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AUTHORIZER: Final = object_type("kubernetes.authorization.Authorizer", {})
PATH_CHECK: Final = object_type("kubernetes.authorization.PathCheck", {})
GROUP_CHECK: Final = object_type("kubernetes.authorization.GroupCheck", {})
RESOURCE_CHECK: Final = object_type("kubernetes.authorization.ResourceCheck", {})
DECISION: Final = object_type("kubernetes.authorization.Decision", {})
TYPES: Final = {type_.name: type_ for type_ in (AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION)}

#: A check is dear: an expression can afford two.
_CHECK_COST: Final = 350_000


class Query(NamedTuple):
    """What is asked of an authorizer."""

    #: ``namespace`` and ``name`` of the service account to ask for, instead of who sent the request.
    service_account: tuple[str, str] | None = None
    verb: str = ""
    #: Of requests that are not for a resource.
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


class Answer(NamedTuple):
    """What an authorizer says."""

    allowed: bool
    reason: str = ""
    error: str = ""


class _Asking(Opaque):
    """A question, as far as it was put."""

    __slots__ = ("ask", "query")

    def __init__(self, ask: Callable[[Query], Answer], query: Query) -> None:
        self.ask: Final = ask
        self.query: Final = query


class AuthorizerValue(_Asking):
    """Answers whether who sent the request may do something."""

    type_name: ClassVar[str] = AUTHORIZER.name
    __slots__ = ()


class PathCheck(_Asking):
    """Asks about a path."""

    type_name: ClassVar[str] = PATH_CHECK.name
    __slots__ = ()


class GroupCheck(_Asking):
    """Asks about a resource of a group, which is still to be named."""

    type_name: ClassVar[str] = GROUP_CHECK.name
    __slots__ = ()


class ResourceCheck(_Asking):
    """Asks about a resource."""

    type_name: ClassVar[str] = RESOURCE_CHECK.name
    __slots__ = ()


class DecisionValue(Opaque):
    """The answer."""

    type_name: ClassVar[str] = DECISION.name
    __slots__ = ("answer",)

    def __init__(self, answer: Answer) -> None:
        self.answer: Final = answer


def authorizer(ask: Callable[[Query], Answer]) -> AuthorizerValue:
    """The value of the variable ``authorizer``."""
    return AuthorizerValue(ask, Query())


def request_resource(ask: Callable[[Query], Answer], query: Query) -> ResourceCheck:
    """The value of ``authorizer.requestResource``: a question about what the request is for."""
    return ResourceCheck(ask, query)


def _narrowed(made: type[_Asking], part: str) -> Callable[[_Asking, str], _Asking]:
    return lambda asking, value: made(asking.ask, Query(**{**asking.query._asdict(), part: value}))


def _service_account(asking: _Asking, namespace: str, name: str) -> AuthorizerValue:
    return AuthorizerValue(asking.ask, asking.query._replace(service_account=(namespace, name)))


def _check(asking: _Asking, verb: str) -> DecisionValue:
    return DecisionValue(asking.ask(asking.query._replace(verb=verb)))


def _check_cost(_: Sequence[Any], __: Any) -> int:
    return _CHECK_COST


def functions() -> Iterator[Function]:
    """All of them."""
    account = member("authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER, _service_account)
    yield Function("serviceAccount", [account])
    path = member("authorizer_path", (AUTHORIZER, STRING), PATH_CHECK, _narrowed(PathCheck, "path"))
    yield Function("path", [path])
    group = member("authorizer_group", (AUTHORIZER, STRING), GROUP_CHECK, _narrowed(GroupCheck, "group"))
    yield Function("group", [group])
    resource = _narrowed(ResourceCheck, "resource")
    yield Function("resource", [member("groupcheck_resource", (GROUP_CHECK, STRING), RESOURCE_CHECK, resource)])
    for name, field in (
        ("subresource", "subresource"),
        ("namespace", "namespace"),
        ("name", "name"),
        ("fieldSelector", "field_selector"),
        ("labelSelector", "label_selector"),
    ):
        narrow = _narrowed(ResourceCheck, field)
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
        "errored": (BOOL, lambda decision: bool(decision.answer.error)),
        "error": (STRING, lambda decision: decision.answer.error),
        "allowed": (BOOL, lambda decision: decision.answer.allowed),
        "reason": (STRING, lambda decision: decision.answer.reason),
    }
    for name, (type_, read) in answers.items():
        yield Function(name, [member(f"decision_{name}", (DECISION,), type_, read)])
