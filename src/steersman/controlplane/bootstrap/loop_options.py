"""Options of the bootstrap controller's loops, for embedding programs; servers run with the defaults."""

from __future__ import annotations

from random import Random  # noqa: TC003 — read by msgspec at run time

import msgspec

from steersman.client.reflector import ReflectorOptions  # noqa: TC001 — read by msgspec at run time


class LoopOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``BootstrapLoops``."""

    #: Factor of all periods without a trigger, e.g. of repairs, and of the lifetime of the endpoint's lease; below 360, or the identity Lease expires.
    period_factor: float = 1.0
    #: Options of all informers; None: the defaults.
    reflector: ReflectorOptions | None = None
    #: Source of jitter and of the suffix of the server's identity; None: a random one.
    dice: Random | None = None
