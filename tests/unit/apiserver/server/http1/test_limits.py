"""Bounds that clients see."""

import msgspec
import pytest

from steersman.apiserver.server.http1 import limits


def test_timeouts_are_those_of_kube_apiserver():
    assert limits.Timeouts() == limits.Timeouts(head=32.0, body=60.0, idle=90.0, write_stall=60.0, linger=0.5)


@pytest.mark.interpreted
def test_timeouts_cannot_be_changed():
    with pytest.raises(AttributeError):
        limits.Timeouts().head = 1.0  # type: ignore[misc]
    assert msgspec.structs.replace(limits.Timeouts(), head=1.0).head == 1.0
