"""Count of failed TLS handshakes."""

from steersman.apiserver.server.http1.handshakes import HANDSHAKE_SECONDS, Handshakes
from steersman.asynckit.clock import FakeClock


async def test_handshakes_that_do_not_complete_in_time_have_failed():
    clock = FakeClock()
    handshakes = Handshakes(clock)
    handshakes.complete(handshakes.begin())
    handshakes.begin()
    await clock.advance(HANDSHAKE_SECONDS)
    handshakes.begin()
    assert handshakes.failed == 0
    await clock.advance(2)
    assert handshakes.failed == 1
    await clock.advance(HANDSHAKE_SECONDS)
    assert (handshakes.failed, handshakes.failed) == (2, 2)
