import pytest

from steersman.runtime.health import Health, HealthcheckMetrics, Unhealthy
from steersman.runtime.http import _parse


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
    page = await health.page({"verbose": ""}, exclude=["disk"])
    assert (page.status, b"[+]disk excluded: ok" in page.body) == (200, True)


async def test_results_are_recorded_by_check_endpoint_and_status():
    results = HealthcheckMetrics()
    health = Health("livez", results)
    health.add("disk", failing)
    await health.page({})
    await health.page({}, exclude=["disk"])
    counts = {
        (sample.labels["name"], sample.labels["status"]): sample.value
        for family in results.registry.collect()
        for sample in family.samples
        if sample.name == "kubernetes_healthchecks_total"
    }
    assert counts == {("ping", "success"): 2, ("disk", "error"): 1}
    assert results.registry.get_sample_value("kubernetes_healthcheck", {"name": "disk", "type": "livez"}) == 0


def request(target):
    return _parse(f"GET {target} HTTP/1.1\r\n\r\n", None)


async def test_several_checks_are_excluded_and_unknown_ones_are_warned_about(health):
    health.add("disk", failing)
    page = await health.serve(request("/readyz?verbose&exclude=disk&exclude=ping&exclude=moon&exclude=mars"))
    assert page.body.decode().splitlines() == [
        "[+]ping excluded: ok",
        "[+]disk excluded: ok",
        'warn: some health checks cannot be excluded: no matches for "mars", "moon"',
        "readyz check passed",
    ]


async def test_single_check_is_served_below_the_path(health):
    health.add("disk", failing)
    assert await health.serve_single(request("/readyz/ping")) == (200, b"ok", "text/plain; charset=utf-8")
    page = await health.serve_single(request("/readyz/disk"))
    assert (page.status, page.body) == (500, b"internal server error: the disk is on fire\n")
    assert (await health.serve_single(request("/readyz/moon"))).status == 404
