import pytest

from steersman.runtime.health import Health, HealthcheckMetrics, Unhealthy


def failing():
    raise Unhealthy("the disk is on fire")


@pytest.fixture
def health():
    return Health("readyz")


async def test_health_is_ok_when_all_checks_pass(health):
    assert await health.page({}) == (200, b"ok", "text/plain; charset=utf-8")


async def test_verbose_lists_every_check(health):
    health.add("disk", lambda: None)
    page = await health.page({"verbose": ""})
    assert page.body == b"[+]ping ok\n[+]disk ok\nreadyz check passed\n"


async def test_failed_check_is_named_and_its_reason_is_logged_only(health, caplog):
    caplog.set_level("INFO")
    health.add("disk", failing)
    page = await health.page({})
    assert page.status == 500
    assert page.body == b"[+]ping ok\n[-]disk failed: reason withheld\nreadyz check failed\n"
    assert "the disk is on fire" in caplog.text


async def test_excluded_check_is_skipped(health):
    health.add("disk", failing)
    page = await health.page({"verbose": "", "exclude": "disk"})
    assert (page.status, b"[+]disk excluded: ok" in page.body) == (200, True)


async def test_results_are_recorded_by_check_endpoint_and_status():
    results = HealthcheckMetrics()
    health = Health("livez", results)
    health.add("disk", failing)
    await health.page({})
    await health.page({"exclude": "disk"})
    counts = {
        (sample.labels["name"], sample.labels["status"]): sample.value
        for family in results.registry.collect()
        for sample in family.samples
        if sample.name == "kubernetes_healthchecks_total"
    }
    assert counts == {("ping", "success"): 2, ("disk", "error"): 1}
    assert results.registry.get_sample_value("kubernetes_healthcheck", {"name": "disk", "type": "livez"}) == 0
