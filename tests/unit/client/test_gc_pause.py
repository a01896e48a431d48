"""Pause of garbage collection during decoding."""

import gc

import pytest

from steersman.client.gc_pause import gc_paused


def test_gc_paused_disables_collection_for_large_input_only():
    with gc_paused(10):
        assert gc.isenabled()
    with gc_paused(1_000_000):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_gc_paused_enables_collection_after_an_exception():
    with pytest.raises(ValueError, match="bad"), gc_paused(1_000_000):
        raise ValueError("bad")
    assert gc.isenabled()


def test_gc_paused_keeps_disabled_collection_disabled():
    gc.disable()
    try:
        with gc_paused(1_000_000):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
