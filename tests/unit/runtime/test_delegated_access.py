"""Delegated authentication and authorization: reviews by a server in this process, and their caches."""

import json

import pytest
from prometheus_client import CollectorRegistry

from steersman.client import tree
from steersman.client.errors import RequestFailed
from steersman.runtime.access_metrics import AccessMetrics
from steersman.runtime.delegated_access import DelegatedAccess, PathMatcher
from steersman.runtime.http import Request

ACCOUNTS = tree("v1", "ServiceAccount")
BINDINGS = tree("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")


class Reviewer:
    """Client that counts what it is asked, and may fail."""

    def __init__(self, client):
        self._client = client
        self.created = []
        self.failure = None

    async def create(self, review):
        self.created.append(type(review).__name__)
        if self.failure is not None:
            raise self.failure
        return await self._client.create(review)


@pytest.fixture
def reviewer(client):
    return Reviewer(client)


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def access(reviewer, registry, clock):
    return DelegatedAccess(
        token_reviewer=reviewer, access_reviewer=reviewer, clock=clock, metrics=AccessMetrics(registry)
    )


@pytest.fixture
async def token(client):
    """A token of the service account ``default/scraper``, which is bound to ``system:monitoring``."""
    await client.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "scraper"}}, namespace="default"
    )
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = await client.create_subresource(ACCOUNTS, "scraper", "token", review, namespace="default")
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "scraper"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:monitoring"},
        "subjects": [{"kind": "ServiceAccount", "name": "scraper", "namespace": "default"}],
    }  # fmt: skip
    await client.create(binding)
    return answer["status"]["token"]


def get(path, token="", *, method="GET", subject=None):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    certificate = None if subject is None else {"subject": tuple(((kind, value),) for kind, value in subject)}
    return Request(method, path, {}, headers, certificate)


async def code(access, request):
    page = await access(request)
    return 200 if page is None else page.status


async def test_token_with_the_role_may_get_metrics(access, token):
    assert await code(access, get("/metrics", token)) == 200
    assert await code(access, get("/configz", token)) == 403
    assert await code(access, get("/metrics", token, method="POST")) == 403


async def test_anonymous_requests_reach_only_the_paths_that_are_always_allowed(access, reviewer):
    assert await code(access, get("/healthz")) == 200
    assert reviewer.created == []
    page = await access(get("/metrics"))
    status = json.loads(page.body)
    assert (page.status, status["reason"]) == (403, "Forbidden")
    assert status["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'


async def test_invalid_token_is_401_even_at_healthz(access):
    page = await access(get("/healthz", "nonsense"))
    assert (page.status, json.loads(page.body)["message"]) == (401, "Unauthorized")


async def test_unknown_authorization_schemes_are_anonymous(access):
    assert await code(access, Request("GET", "/healthz", {}, {"authorization": "Basic YTpi"})) == 200


async def test_reviews_are_cached_until_their_time_has_passed(access, reviewer, token, clock):
    for _ in range(2):
        assert await code(access, get("/metrics", token)) == 200
    assert reviewer.created == ["TokenReview", "SubjectAccessReview"]
    await clock.advance(10)
    assert await code(access, get("/metrics", token)) == 200
    assert reviewer.created == ["TokenReview", "SubjectAccessReview"] * 2


async def test_certificate_of_system_masters_needs_no_review(access, reviewer):
    subject = [("organizationName", "system:masters"), ("commonName", "admin")]
    assert await code(access, get("/configz", subject=subject)) == 200
    assert reviewer.created == []


async def test_certificate_user_is_reviewed(access):
    assert (
        await code(access, get("/metrics", subject=[("organizationName", "system:monitoring"), ("commonName", "a")]))
        == 200
    )
    assert await code(access, get("/metrics", subject=[("commonName", "a")])) == 403


async def test_certificate_that_does_not_verify_counts_as_none_beside_a_token(access, token):
    headers = {"authorization": f"Bearer {token}"}
    assert await code(access, Request("GET", "/metrics", {}, headers, None, is_certificate_invalid=True)) == 200


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer nonsense"}])
async def test_certificate_that_does_not_verify_is_401_without_a_valid_token(access, headers):
    assert await code(access, Request("GET", "/healthz", {}, headers, None, is_certificate_invalid=True)) == 401


async def test_access_that_cannot_be_reviewed_is_denied(access, reviewer, token):
    reviewer.failure = RequestFailed("connection refused")
    assert await code(access, get("/metrics", token)) == 401
    assert await code(access, get("/metrics")) == 500
    reviewer.failure = None
    assert await code(access, get("/metrics", token)) == 200


async def test_access_without_reviewers_ignores_tokens_and_allows_paths_only(registry, clock):
    access = DelegatedAccess(token_reviewer=None, access_reviewer=None, clock=clock, metrics=AccessMetrics(registry))
    assert await code(access, get("/healthz", "any")) == 200
    assert await code(access, get("/metrics", "any")) == 403


async def test_metrics_count_attempts_by_result(access, registry, token):
    await access(get("/metrics", token))
    await access(get("/metrics"))
    await access(get("/metrics", "nonsense"))
    assert registry.get_sample_value("authentication_attempts", {"result": "success"}) == 2
    assert registry.get_sample_value("authentication_attempts", {"result": "failure"}) == 1
    assert registry.get_sample_value("authorization_attempts_total", {"result": "allowed"}) == 1
    assert registry.get_sample_value("authorization_attempts_total", {"result": "denied"}) == 1
    assert registry.get_sample_value("apiserver_delegated_authn_request_total", {"code": "201"}) == 2
    assert registry.get_sample_value("authentication_token_cache_request_total", {"status": "miss"}) == 2


@pytest.mark.parametrize(
    ("paths", "path", "matches"),
    [(["/a"], "/a", True), (["/a"], "/a/b", False), (["/a/*"], "/a/b", True), (["a"], "/a", True), ([], "/a", False)],
)
def test_path_matcher_matches_exact_paths_and_prefixes(paths, path, matches):
    assert PathMatcher(paths)(path) is matches


def test_path_matcher_rejects_a_star_in_the_middle():
    with pytest.raises(ValueError, match=r'only trailing \* allowed in "/a/\*/b"'):
        PathMatcher(["/a/*/b"])
