"""``ImagePolicyWebhook``: reviews of images."""

import json

import pytest
from tests.unit.apiserver.writing import STRATEGIC_PATCH, Server

from steersman.apiserver.admission.image_policy import ImagePolicyWebhook
from steersman.apiserver.request import Annotations
from steersman.apiserver.webhooks.client import WebhookCallError
from steersman.asynckit.clock import FakeClock

PODS = "/api/v1/namespaces/default/pods"
CONTAINERS = [{"name": "a", "image": "one:1"}, {"name": "b", "image": "two:2"}]


class Backend:
    """Client of a backend with scripted answers; an exception is raised."""

    def __init__(self, *answers, **settings):
        self.answers = list(answers)
        self.reviews = []
        self.clock = FakeClock()
        self.opened = []
        configuration = {"imagePolicy": {"kubeConfigFile": "/k", **settings}}
        self.plugin = ImagePolicyWebhook(configuration, clock=self.clock, open_webhook=self.open)

    def open(self, file, backoff_seconds):
        self.opened.append((file, backoff_seconds))
        return self

    async def call(self, body, read):
        self.reviews.append(json.loads(body))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        try:
            return read(json.dumps(answer).encode())
        except ValueError as error:
            raise WebhookCallError(str(error)) from error


def answer(**status):
    return {"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "ImageReview", "status": status}


async def create(server, name="p", annotations=None, **spec):
    metadata = {"name": name, "annotations": annotations or {}}
    return await server.call("POST", PODS, {"metadata": metadata, "spec": {"containers": CONTAINERS, **spec}})


async def test_review_has_the_images_and_matching_annotations():
    backend = Backend(answer(allowed=True))
    async with Server(backend.plugin) as server:
        notes = {"x.image-policy.k8s.io/ticket": "1", "other.k8s.io/x": "2"}
        first = [{"name": "i", "image": "init:1"}]
        assert (await create(server, annotations=notes, initContainers=first)).code == 201
    (review,) = backend.reviews
    assert (review["kind"], review["apiVersion"]) == ("ImageReview", "imagepolicy.k8s.io/v1alpha1")
    assert review["spec"] == {
        "containers": [{"image": "one:1"}, {"image": "two:2"}, {"image": "init:1"}],
        "annotations": {"x.image-policy.k8s.io/ticket": "1"},
        "namespace": "default",
    }


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"allowed": False, "reason": "bad"}, "image policy webhook backend denied one or more images: bad"),
        ({}, "one or more images rejected by webhook backend"),
    ],
)
async def test_denied_pod_is_forbidden(status, message):
    backend = Backend(answer(**status))
    async with Server(backend.plugin) as server:
        refused = await create(server)
    assert (refused.code, refused.body["message"]) == (403, f'pods "p" is forbidden: {message}')


@pytest.mark.parametrize(("allowed", "ttl", "code"), [(True, "allowTTL", 201), (False, "denyTTL", 403)])
async def test_answers_are_cached_for_their_time(allowed, ttl, code):
    backend = Backend(answer(allowed=allowed), answer(allowed=allowed), **{ttl: 20})
    async with Server(backend.plugin) as server:
        for number, seconds in enumerate((19, 1, 0)):
            assert (await create(server, f"p{number}")).code == code
            await backend.clock.advance(seconds)
    assert len(backend.reviews) == 2


async def test_disabled_cache_keeps_nothing():
    backend = Backend(answer(allowed=True), answer(allowed=True), allowTTL=-1)
    async with Server(backend.plugin) as server:
        await create(server, "a")
        await create(server, "b")
    assert len(backend.reviews) == 2


@pytest.mark.parametrize(
    "failure",
    [
        WebhookCallError("gone"),
        answer(allowed="yes"),
        answer(auditAnnotations={"a": 1}),
        {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": {"allowed": True}},
        {"status": []},
        [],
    ],
)
@pytest.mark.parametrize(("default_allow", "code"), [(True, 201), (False, 403)])
async def test_failed_backend_is_decided_by_the_default(failure, default_allow, code):
    backend = Backend(failure, failure, defaultAllow=default_allow)
    async with Server(backend.plugin) as server:
        assert (await create(server)).code == code
        await create(server, "q")
    assert len(backend.reviews) == 2  # failures are not cached


@pytest.mark.parametrize(
    ("reply", "notes"),
    [
        (
            answer(allowed=True, auditAnnotations={"scan": "clean", "a/b": "no key"}),
            {"imagepolicywebhook.image-policy.k8s.io/scan": "clean"},
        ),
        (WebhookCallError("gone"), {"imagepolicywebhook.image-policy.k8s.io/failed-open": "true"}),
    ],
)
async def test_audit_annotations_are_recorded(reply, notes):
    backend = Backend(reply, defaultAllow=True)
    async with Server(backend.plugin) as server:
        request = server.request("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": CONTAINERS}})
        request.annotations = Annotations()
        await server.router(request)
    assert notes.items() <= request.annotations.values.items()
    assert not any("a/b" in key for key in request.annotations.values)


async def test_ephemeral_containers_are_reviewed_alone():
    backend = Backend(answer(allowed=True), answer(allowed=False))
    async with Server(backend.plugin) as server:
        await create(server)
        patch = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "debug:1"}]}}
        path = f"{PODS}/p/ephemeralcontainers"
        refused = await server.call("PATCH", path, patch, media_type=STRATEGIC_PATCH)
    assert refused.code == 403
    assert backend.reviews[1]["spec"]["containers"] == [{"image": "debug:1"}]


@pytest.mark.parametrize(
    ("settings", "backoff_seconds"),
    [({}, 0.5), ({"retryBackoff": 200}, 0.2), ({"retryBackoff": -1}, 0.0)],
)
def test_webhook_is_opened_with_the_delay_of_retries(settings, backoff_seconds):
    assert Backend(**settings).opened == [("/k", backoff_seconds)]


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        (None, "imagePolicy must be an object"),
        ({"imagePolicy": {}}, "imagePolicy.kubeConfigFile must name a file"),
        ({"imagePolicy": {"kubeConfigFile": "/k", "defaultAllow": "no"}}, "defaultAllow must be a boolean"),
        ({"imagePolicy": {"kubeConfigFile": "/k", "allowTTL": "30s"}}, "allowTTL must be an integer"),
        (
            {"imagePolicy": {"kubeConfigFile": "/k", "allowTTL": 1801}},
            "allowTTL: valid value is between 1s and 30m0s, got 30m1s",
        ),
        ({"imagePolicy": {"kubeConfigFile": "/k", "denyTTL": 1}}, "valid value is between 1s and 30m0s, got 1s"),
        ({"imagePolicy": {"kubeConfigFile": "/k", "retryBackoff": 300_001}}, "between 1ns and 5m0s, got 5m0.001s"),
    ],
)
def test_invalid_configuration_is_rejected(configuration, message):
    with pytest.raises(ValueError, match=message):
        ImagePolicyWebhook(configuration, clock=FakeClock(), open_webhook=lambda file, seconds: None)
