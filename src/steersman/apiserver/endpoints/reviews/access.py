"""SubjectAccessReview, LocalSubjectAccessReview and SelfSubjectAccessReview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.errors import invalid
from steersman.apiserver.authz.interface import Verdict, aggregate_errors
from steersman.apiserver.authz.pending import with_decisions
from steersman.apiserver.endpoints.reviews.selectors import (
    evaluation_error,
    field_requirements,
    label_requirements,
    validate_selectors,
)
from steersman.apiserver.request import RequestInfo, UserInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.interface import Authorizer, Decision
    from steersman.apiserver.endpoints.posting import PostWrite
    from steersman.apiserver.http import Request


#: Upstream's refusals name no kind here.
_GROUP_KIND: Final = ".authorization.k8s.io"


class AccessReviews:
    """Endpoints of access reviews."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def of_subject(self, request: Request, posted: PostWrite, check: Callable[[], Awaitable[None]]) -> None:
        """Answer a SubjectAccessReview: any user, any namespace."""
        tree = posted.new
        _refuse([*_spec_errors(_spec(tree)), *_subject_errors(_spec(tree)), *_metadata_errors(tree, "must be empty")])
        await check()
        await self._answer(tree, _subject(_spec(tree)))

    async def of_local_subject(self, request: Request, posted: PostWrite, check: Callable[[], Awaitable[None]]) -> None:
        """Answer a LocalSubjectAccessReview: any user, in the namespace of the path."""
        tree = posted.new
        spec, metadata = _spec(tree), tree["metadata"]
        others = {key: value for key, value in metadata.items() if key != "namespace"}
        errors = [*_spec_errors(spec), *_subject_errors(spec)]
        errors += _metadata_errors({"metadata": others}, "must be empty except for namespace")
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        if resource is not None and (resource.get("namespace") or "") != metadata.get("namespace"):
            namespace = resource.get("namespace") or ""
            errors.append(
                field.invalid("spec.resourceAttributes.namespace", namespace, "must match metadata.namespace")
            )
        if path is not None:
            detail = "disallowed on this kind of request"
            errors.append(field.invalid("spec.nonResourceAttributes", _shown(path), detail))
        _refuse(errors)
        await check()
        await self._answer(tree, _subject(spec))

    async def of_self(self, request: Request, posted: PostWrite, check: Callable[[], Awaitable[None]]) -> None:
        """Answer a SelfSubjectAccessReview: the caller."""
        tree = posted.new
        _refuse([*_spec_errors(_spec(tree)), *_metadata_errors(tree, "must be empty")])
        await check()
        await self._answer(tree, request.user)

    async def _answer(self, tree: Tree, user: UserInfo) -> None:
        spec = _spec(tree)
        decision = await with_decisions(self._authorizer.authorize, user, reviewed_request(spec))
        errors = [decision.error, evaluation_error(spec.get("resourceAttributes") or {})]
        tree["status"] = _status(decision, aggregate_errors([error for error in errors if error]))


def _spec(tree: Tree) -> Tree:
    spec: Tree = tree.setdefault("spec", {})
    return spec


def _subject(spec: Tree) -> UserInfo:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return UserInfo(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", extra)


def reviewed_request(spec: Tree) -> RequestInfo:
    """Return the attributes of the request that a review asks about."""
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return RequestInfo(path.get("verb") or "", path.get("path") or "")
    resource = spec.get("resourceAttributes") or {}
    text = {key: value for key, value in resource.items() if isinstance(value, str)}
    return RequestInfo(
        text.get("verb", ""),
        "",
        True,
        text.get("group", ""),
        text.get("version", ""),
        text.get("namespace", ""),
        text.get("resource", ""),
        text.get("name", ""),
        text.get("subresource", ""),
        fields=tuple(field_requirements(resource)),
        labels=label_requirements(resource),
    )


def _status(decision: Decision, error: str) -> Tree:
    status: Tree = {"allowed": decision.allowed}
    if decision.verdict is Verdict.DENY:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    if error:
        status["evaluationError"] = error
    return status


# -- validation -------------------------------------------------------------------------------------


def _refuse(errors: Sequence[FieldError]) -> None:
    if errors:
        raise invalid(_GROUP_KIND, "", errors)


def _spec_errors(spec: Tree) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors = []
    if resource is not None and path is not None:
        detail = "cannot be specified in combination with resourceAttributes"
        errors.append(field.invalid("spec.nonResourceAttributes", _shown(path), detail))
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(field.invalid("spec.resourceAttributes", None, detail))
    return [*errors, *validate_selectors(resource or {})]


def _subject_errors(spec: Tree) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [field.invalid("spec.user", "", "at least one of user or group must be specified")]


def _metadata_errors(tree: Tree, detail: str) -> list[FieldError]:
    metadata = tree["metadata"]
    if metadata.keys() <= {"managedFields"}:
        return []
    return [field.invalid("metadata", metadata, detail)]


def _shown(path: Tree) -> Tree:
    """Format the attributes of a path as upstream's errors."""
    return {"Path": path.get("path") or "", "Verb": path.get("verb") or ""}
