"""Counters of JWT authenticators."""

from steersman.apiserver.authn.jwt_metrics import JWTMetrics


def test_authentications_are_counted_by_result_and_issuer():
    metrics = JWTMetrics()
    metrics.authenticated("a", 0.002, is_success=True)
    metrics.authenticated("a", 20.0, is_success=True)
    metrics.authenticated("b", 0.0, is_success=False)
    assert {key: latency.count for key, latency in metrics.latencies.items()} == {
        ("success", "a"): 2,
        ("failure", "b"): 1,
    }
    assert metrics.latencies["success", "a"].buckets()[-2:] == [("10", 1), ("+Inf", 2)]


def test_failed_fetch_keeps_the_last_key_set():
    metrics = JWTMetrics()
    metrics.keys_fetched("a", 1.0, b"keys")
    metrics.keys_fetched("a", 2.0, None)
    assert metrics.fetched == {("success", "a"): 1.0, ("failure", "a"): 2.0}
    assert metrics.key_sets == {"a": b"keys"}


def test_forget_removes_the_fetches_of_one_issuer():
    metrics = JWTMetrics()
    for issuer in ("a", "b"):
        metrics.keys_fetched(issuer, 1.0, b"keys")
    metrics.forget("a")
    metrics.forget("c")
    assert (set(metrics.fetched), set(metrics.key_sets)) == ({("success", "b")}, {"b"})
