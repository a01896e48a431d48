"""Connections of a simulated process."""

import asyncio
from random import Random

import pytest

from steersman.apiserver.server.loopback import Loopback
from steersman.asynckit.clock import FakeClock
from steersman.testing.application import ClusterApplication
from steersman.testing.idle import IdleDetector
from steersman.testing.links import Link


async def stuck(scope, receive, send):
    await asyncio.Event().wait()


async def test_cut_link_breaks_its_requests_and_refuses_others():
    app = ClusterApplication(FakeClock(), Random(1))
    app.server = stuck
    cut, other = Link(app), Link(app)
    requests = [asyncio.ensure_future(Loopback(link.serve).request("GET", "/api/v1/pods")) for link in (cut, other)]
    await IdleDetector().wait()
    cut.cut()
    with pytest.raises(ConnectionError, match="reset by peer"):
        await requests[0]
    with pytest.raises(ConnectionError, match="the process has ended"):
        await Loopback(cut.serve).request("GET", "/api/v1/pods")
    assert [request.link for request in app.open_requests] == [other]
    other.cut()
    with pytest.raises(ConnectionError):
        await requests[1]
