"""SubjectAccessReviews as the webhook authorizer posts and reads them: ``authorization.k8s.io`` v1 and v1beta1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.reviews import ReviewDecodeError, verify_kind
from steersman.apimachinery.selectors.labels import Operator

if TYPE_CHECKING:
    from steersman.apiserver.request import RequestInfo, UserInfo

GROUP: Final = "authorization.k8s.io"
KIND: Final = "SubjectAccessReview"
VERSIONS: Final = ("v1", "v1beta1")
#: Other operators restrict more than reviews can express, so their requirements are left out.
_LABEL_OPERATORS: Final = {
    Operator.EQUALS: "In",
    Operator.DOUBLE_EQUALS: "In",
    Operator.IN: "In",
    Operator.NOT_EQUALS: "NotIn",
    Operator.NOT_IN: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
}


class SelectorRequirement(msgspec.Struct, frozen=True, omit_defaults=True):
    """Requirement of a field or label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class SelectorAttributes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Field or label selector of a request."""

    requirements: tuple[SelectorRequirement, ...] = ()


class ResourceAttributes(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Attributes of a request for a resource."""

    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    field_selector: SelectorAttributes | None = None
    label_selector: SelectorAttributes | None = None


class NonResourceAttributes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Attributes of a request for another path."""

    path: str = ""
    verb: str = ""


class ReviewSpec(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """``SubjectAccessReviewSpec`` of v1."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] | None = None
    uid: str = ""


class ReviewSpecV1beta1(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """``SubjectAccessReviewSpec`` of v1beta1."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str = ""
    groups: tuple[str, ...] = msgspec.field(default=(), name="group")
    extra: dict[str, tuple[str, ...]] | None = None
    uid: str = ""


class ReviewStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """``SubjectAccessReviewStatus``."""

    allowed: bool | None = None
    denied: bool | None = None
    reason: str | None = None
    evaluation_error: str | None = None


class _Review(msgspec.Struct, frozen=True, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    status: ReviewStatus | None = None


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(_Review).decode
_NO_STATUS: Final = ReviewStatus()


def review_spec(user: UserInfo, info: RequestInfo) -> ReviewSpec:
    """Return the spec of the review of a request."""
    resource, path = None, None
    if info.is_resource:
        resource = ResourceAttributes(
            info.namespace,
            info.verb,
            info.group,
            info.version,
            info.resource,
            info.subresource,
            info.name,
            _field_selector(info),
            _label_selector(info),
        )
    else:
        path = NonResourceAttributes(info.path, info.verb)
    return ReviewSpec(resource, path, user.name, user.groups, user.extra or None, user.uid)


def _field_selector(info: RequestInfo) -> SelectorAttributes | None:
    if not info.fields:
        return None
    return SelectorAttributes(
        tuple(SelectorRequirement(field, "In" if equal else "NotIn", (value,)) for field, value, equal in info.fields)
    )


def _label_selector(info: RequestInfo) -> SelectorAttributes | None:
    requirements = tuple(
        SelectorRequirement(requirement.key, operator, requirement.values)
        for requirement in info.labels
        if (operator := _LABEL_OPERATORS.get(requirement.operator)) is not None
    )
    return SelectorAttributes(requirements) if requirements else None


def encode_spec(spec: ReviewSpec, *, version: str) -> bytes:
    """Return the spec in JSON, in a version of the group."""
    if version == "v1":
        return _encode(spec)
    return _encode(
        ReviewSpecV1beta1(
            spec.resource_attributes, spec.non_resource_attributes, spec.user, spec.groups, spec.extra, spec.uid
        )
    )


def review_body(spec: bytes, *, version: str) -> bytes:
    """Return the review of an encoded spec."""
    head = f'{{"kind":"{KIND}","apiVersion":"{GROUP}/{version}","metadata":{{}},"spec":'
    return b'%b%b,"status":{"allowed":false}}' % (head.encode(), spec)


def read_status(body: bytes, *, version: str) -> ReviewStatus:
    """Return the status of an answer. Raises ``ReviewDecodeError``."""
    try:
        review = _decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ReviewDecodeError(f"the answer is no {KIND}: {error}") from None
    verify_kind(review.api_version or "", review.kind or "", f"{GROUP}/{version}", KIND)
    return review.status or _NO_STATUS


def condition_request(spec: ReviewSpec, *, fields: bool, labels: bool) -> dict[str, Any]:
    """Return the value of ``request`` in match conditions, with empty texts. Upstream: ``convertObjectToUnstructured``.

    ``fields``, ``labels``: include the selectors.
    """
    request: dict[str, Any] = {
        "user": spec.user,
        "groups": list(spec.groups),
        "uid": spec.uid,
        "extra": {key: list(values) for key, values in (spec.extra or {}).items()},
    }
    resource, path = spec.resource_attributes, spec.non_resource_attributes
    if resource is not None:
        attributes: dict[str, Any] = {
            "namespace": resource.namespace,
            "verb": resource.verb,
            "group": resource.group,
            "version": resource.version,
            "resource": resource.resource,
            "subresource": resource.subresource,
            "name": resource.name,
        }
        if fields and resource.field_selector is not None:
            attributes["fieldSelector"] = _selector_tree(resource.field_selector)
        if labels and resource.label_selector is not None:
            attributes["labelSelector"] = _selector_tree(resource.label_selector)
        request["resourceAttributes"] = attributes
    if path is not None:
        request["nonResourceAttributes"] = {"verb": path.verb, "path": path.path}
    return request


def _selector_tree(selector: SelectorAttributes) -> dict[str, Any]:
    return {
        "requirements": [
            {"key": requirement.key, "operator": requirement.operator, "values": list(requirement.values)}
            for requirement in selector.requirements
        ]
    }
