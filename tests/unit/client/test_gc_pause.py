"""No collections while much is decoded."""

import gc

import pytest

from steersman.client.gc_pause import gc_paused


def test_collections_pause_for_large_input_alone():
    with gc_paused(10):
        assert gc.isenabled()
    with gc_paused(1_000_000):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_they_go_on_after_a_failure():
    with pytest.raises(ValueError, match="bad"), gc_paused(1_000_000):
        raise ValueError("bad")
    assert gc.isenabled()


def test_who_turned_them_off_finds_them_off():
    gc.disable()
    try:
        with gc_paused(1_000_000):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
