"""Reviews that ask in their spec."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lightkube.models.authentication_v1 import TokenReviewSpec, TokenReviewStatus, UserInfo
from lightkube.models.authorization_v1 import SubjectAccessReviewSpec, SubjectAccessReviewStatus

from steersman.webhooks import ImageReviewSpec, ImageReviewStatus
from steersman.webhooks.reviews import ReviewError
from steersman.webhooks.spec_reviews import IMAGE_REVIEW, SUBJECT_ACCESS_REVIEW, TOKEN_REVIEW, SpecReview, SpecWebhook


def review(kind: SpecReview, spec: Any, version: str = "v1") -> bytes:
    body = {"apiVersion": f"{kind.group}/{version}", "kind": kind.kind, "metadata": {}, "spec": spec, "status": {}}
    return json.dumps(body).encode()


async def answer(kind: SpecReview, handler: Any, spec: Any, version: str = "v1") -> dict[str, Any]:
    response = json.loads(await SpecWebhook(handler, kind).review(review(kind, spec, version)))
    assert (response["apiVersion"], response["kind"]) == (f"{kind.group}/{version}", kind.kind)
    status: dict[str, Any] = response["status"]
    return status


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_token_is_reviewed(version: str) -> None:
    async def authenticate(spec: TokenReviewSpec) -> TokenReviewStatus:
        user = UserInfo(username="jane", groups=["a"])
        return TokenReviewStatus(authenticated=spec.token == "secret", user=user, audiences=spec.audiences)

    status = await answer(TOKEN_REVIEW, authenticate, {"token": "secret", "audiences": ["x"]}, version)
    assert (status["authenticated"], status["audiences"]) == (True, ["x"])
    assert (status["user"]["username"], status["user"]["groups"]) == ("jane", ["a"])
    assert (await answer(TOKEN_REVIEW, authenticate, {"token": "other"}, version))["authenticated"] is False


@pytest.mark.parametrize(("version", "groups_field"), [("v1", "groups"), ("v1beta1", "group")])
async def test_access_is_reviewed(version: str, groups_field: str) -> None:
    def authorize(spec: SubjectAccessReviewSpec) -> SubjectAccessReviewStatus:
        assert spec.resourceAttributes is not None
        is_allowed = "ops" in (spec.groups or ()) and spec.resourceAttributes.verb == "get"
        return SubjectAccessReviewStatus(allowed=is_allowed, reason=f"{spec.user} asks")

    spec = {"user": "jane", groups_field: ["ops"], "resourceAttributes": {"verb": "get"}}
    assert await answer(SUBJECT_ACCESS_REVIEW, authorize, spec, version) == {"allowed": True, "reason": "jane asks"}
    spec["resourceAttributes"] = {"verb": "delete"}
    assert (await answer(SUBJECT_ACCESS_REVIEW, authorize, spec, version))["allowed"] is False


async def test_images_are_reviewed() -> None:
    def check(spec: ImageReviewSpec) -> ImageReviewStatus:
        names = [container.image for container in spec.containers]
        return ImageReviewStatus(allowed=False, reason=f"{names} in {spec.namespace} {spec.annotations}")

    spec = {"containers": [{"image": "a"}], "namespace": "b", "annotations": None}
    assert await answer(IMAGE_REVIEW, check, spec, "v1alpha1") == {"allowed": False, "reason": "['a'] in b {}"}


@pytest.mark.parametrize("result", [None, True, {"authenticated": True}, SubjectAccessReviewStatus(allowed=True)])
async def test_result_of_another_class_is_an_error(result: Any) -> None:
    with pytest.raises(TypeError, match="in place of TokenReviewStatus"):
        await SpecWebhook(lambda spec: result, TOKEN_REVIEW).review(review(TOKEN_REVIEW, {"token": "a"}))


async def test_error_of_the_handler_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await SpecWebhook(lambda spec: 1 / 0, TOKEN_REVIEW).review(review(TOKEN_REVIEW, {"token": "a"}))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        review(TOKEN_REVIEW, None),
        review(TOKEN_REVIEW, {"token": 1}),
        review(TOKEN_REVIEW, {"token": "a"}, "v1alpha1"),
        review(SUBJECT_ACCESS_REVIEW, {"user": "a"}),
    ],
)
async def test_body_that_is_no_review_is_an_error(body: bytes) -> None:
    with pytest.raises(ReviewError):
        await SpecWebhook(lambda spec: TokenReviewStatus(authenticated=True), TOKEN_REVIEW).review(body)


def test_handler_with_another_signature_is_rejected() -> None:
    with pytest.raises(TypeError, match="a handler of TokenReviews"):
        SpecWebhook(lambda: None, TOKEN_REVIEW)  # type: ignore[misc, arg-type]
