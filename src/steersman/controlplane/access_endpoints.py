"""Endpoints of access reviews and of service account tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.modes import Chain
    from steersman.apiserver.endpoints.reviews.review_endpoints import Answer
    from steersman.apiserver.endpoints.subresources import Connect, Endpoints
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.served import ServedResource
    from steersman.controlplane.authentication.authentication import Authentication
    from steersman.controlplane.options import APIServerOptions
    from steersman.schema.resources import Resource

_AUTHN: Final = "authentication.k8s.io"
_AUTHZ: Final = "authorization.k8s.io"


def access_endpoints(
    registry: Registry,
    options: APIServerOptions,
    *,
    admission: AdmissionChain,
    authorizer: Chain,
    authentication: Authentication,
) -> dict[tuple[str, str], Connect]:
    """Return the endpoints by group resource and subresource, for ``Router``. Modules are imported on first use."""

    def tokens(_: Resource, accounts: ServedResource | None) -> Endpoints:
        from steersman.apiserver.endpoints.token_request import TokenRequests  # noqa: PLC0415

        assert accounts is not None
        requests = TokenRequests(
            registry,
            authentication.issuer,
            life_seconds_max=int(options.service_account_max_token_expiration_seconds),
            extends=options.service_account_extend_token_expiration,
            extended_seconds_max=authentication.life_seconds_max,
        )
        return requests.endpoints(accounts, admission=admission, authorizer=authorizer)

    def reviews(resource: Resource, _: ServedResource | None) -> Endpoints:
        from steersman.apiserver.endpoints.reviews.review_endpoints import review_endpoints  # noqa: PLC0415

        answer = _answer(resource.kind, authorizer, authentication)
        return review_endpoints(resource, answer, clock=registry.clock, admission=admission, authorizer=authorizer)

    kinds = {
        _AUTHN: ("tokenreviews", "selfsubjectreviews"),
        _AUTHZ: (
            "subjectaccessreviews",
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
        ),
    }
    connect: dict[tuple[str, str], Any] = {(f"{name}.{group}", ""): reviews for group in kinds for name in kinds[group]}
    return {**connect, ("serviceaccounts", "token"): tokens}


def _answer(kind: str, authorizer: Chain, authentication: Authentication) -> Answer:
    """Return the reviewer of a kind."""
    from steersman.apiserver.endpoints.reviews.access import AccessReviews  # noqa: PLC0415
    from steersman.apiserver.endpoints.reviews.identity import TokenReviews, who_am_i  # noqa: PLC0415
    from steersman.apiserver.endpoints.reviews.rules import RulesReviews  # noqa: PLC0415

    access = AccessReviews(authorizer)
    answers: dict[str, Answer] = {
        "SubjectAccessReview": access.of_subject,
        "LocalSubjectAccessReview": access.of_local_subject,
        "SelfSubjectAccessReview": access.of_self,
        "SelfSubjectRulesReview": RulesReviews(authorizer).of_self,
        "SelfSubjectReview": who_am_i,
        "TokenReview": TokenReviews(authentication.tokens, audiences=authentication.audiences).of_token,
    }
    return answers[kind]
