"""Context of controllers."""

from __future__ import annotations

from types import SimpleNamespace

from steersman.asynckit.clock import FakeClock
from steersman.controllers.context import ControllerContext
from steersman.controllers.options import ControllerOptions


def test_context_shares_informers_but_not_the_client():
    clock, options = FakeClock(), ControllerOptions()
    informers = SimpleNamespace()
    mine = SimpleNamespace(clock=clock)
    context = ControllerContext(mine, name="foo-controller", options=options, informers=informers)
    assert (context.informers, context.client, context.clock, context.name, context.options) == (
        informers, mine, clock, "foo-controller", options,
    )  # fmt: skip
