"""Metrics of JWT authenticators and token webhooks."""

from steersman.apimachinery.label_sets import hash_label
from steersman.apiserver.authn.jwt_metrics import JWTMetrics
from steersman.apiserver.authn.token_cache import TokenCacheMetrics
from steersman.apiserver.authn.webhook_metrics import TokenReviewMetrics
from steersman.apiserver.observability.authentication_metrics import JWTMetricsCollector, TokenWebhookMetricsCollector


async def test_issuers_keys_and_the_server_are_hashed():
    metrics = JWTMetrics()
    metrics.authenticated("https://idp", 0.1, is_success=True)
    metrics.keys_fetched("https://idp", 1.0, b"keys")
    families = {
        family.name.removeprefix("apiserver_authentication_jwt_authenticator_"): family.samples
        for family in await JWTMetricsCollector(metrics, server_id="server").collect()
    }
    issuer, server = ("jwt_issuer_hash", hash_label(b"https://idp")), ("apiserver_id_hash", hash_label(b"server"))
    assert ("_count", (("result", "success"), issuer), 1) in families["latency_seconds"]
    assert families["jwks_fetch_last_timestamp_seconds"] == [("", (("result", "success"), issuer, server), 1.0)]
    assert families["jwks_fetch_last_key_set_info"] == [("", (issuer, server, ("hash", hash_label(b"keys"))), 1)]


async def test_reviews_and_look_ups_are_counted_by_status():
    reviews, cache = TokenReviewMetrics(), TokenCacheMetrics()
    reviews.observe_attempt("201", 0.1)
    cache.requested("miss", 0.1)
    cache.fetched("ok")
    families = {family.name: family.samples for family in await TokenWebhookMetricsCollector(reviews, cache).collect()}
    assert families["apiserver_delegated_authn_request_total"] == [("", (("code", "201"),), 1)]
    assert families["authentication_token_cache_request_total"] == [("", (("status", "miss"),), 1)]
    assert families["authentication_token_cache_fetch_total"] == [("", (("status", "ok"),), 1)]
    assert ("", (("status", "in_flight"),), 0) in families["authentication_token_cache_active_fetch_count"]
