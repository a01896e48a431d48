from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apiserver.admission.event_rate_limit import EventRateLimit
from steersman.asynckit.clock import FakeClock

EVENTS = "/api/v1/namespaces/default/events"


def limit(kind, **more):
    return {"type": kind, "qps": 1, "burst": 2, **more}


def event(name, about="x", component="k"):
    return {
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": about},
        "source": {"component": component},
    }


async def codes(server, *bodies, **more):
    return [(await server.call("POST", EVENTS, body, **more)).code for body in bodies]


async def test_bucket_is_refilled_over_time():
    clock = FakeClock()
    async with Server(EventRateLimit({"limits": [limit("Namespace")]}, clock=clock)) as server:
        assert await codes(server, event("a"), event("b"), event("c")) == [201, 201, 429]
        await clock.advance(1)
        assert await codes(server, event("c"), event("d")) == [201, 429]
        refused = await server.call("POST", EVENTS, event("d"))
        assert refused.body["message"] == "Too many requests: limit reached on type Namespace for key default"


async def test_dry_run_takes_no_token():
    async with Server(EventRateLimit({"limits": [limit("Server")]}, clock=FakeClock())) as server:
        assert await codes(server, *[event("a")] * 5, query="dryRun=All") == [201] * 5


async def test_source_and_object_have_separate_buckets():
    limits = {"limits": [limit("SourceAndObject"), limit("User", burst=10)]}
    async with Server(EventRateLimit(limits, clock=FakeClock())) as server:
        assert await codes(server, *[event(f"a{n}") for n in range(3)]) == [201, 201, 429]
        others = [event("b", about="y"), event("c", component="s")]
        assert await codes(server, *others) == [201, 201]
        refused = await server.call("POST", EVENTS, event("a2"))
        assert (
            refused.body["message"] == "Too many requests: limit reached on type SourceAndObject for key kPoddefaultx"
        )


async def test_least_recently_used_buckets_are_evicted():
    limits = {"limits": [limit("SourceAndObject", burst=1, cacheSize=1)]}
    async with Server(EventRateLimit(limits, clock=FakeClock())) as server:
        bodies = [event("a"), event("b", about="y"), event("c")]
        assert await codes(server, *bodies, event("d")) == [201, 201, 201, 429]


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ([], "limits: must not be empty"),
        ("Server", "limits: must be a list of objects"),
        (["Server"], "limits: must be a list of objects"),
        ([limit("Sometimes")], r"limits\[0\].type"),
        ([limit("Server", qps=0)], r"limits\[0\].qps: must be positive"),
        ([limit("Server", burst=-1)], r"limits\[0\].burst: must be positive"),
        ([limit("Server", cacheSize=-1)], r"limits\[0\].cacheSize: must not be negative"),
        ([limit("Server"), limit("Server")], r"limits\[1\].type: there is one for Server already"),
    ],
)
def test_invalid_configuration_is_rejected(limits, text):
    with pytest.raises(ValueError, match=text):
        EventRateLimit({"limits": limits}, clock=FakeClock())
