"""Accounting of CPU-bound work."""

import pytest

from steersman.apimachinery.workmeter import (
    Allowance,
    InterruptedWorkError,
    Interruption,
    WorkLimitError,
    metered,
    spend,
    spend_bytes,
)


def test_spend_does_nothing_without_a_meter():
    spend(10**9)


def test_allowance_raises_after_its_last_unit():
    with metered(Allowance(10)):
        spend(4)
        spend(6)
        with pytest.raises(WorkLimitError):
            spend(1)
    spend(1)


def test_metered_restores_the_meter_around_it():
    with metered(Allowance(10)):
        with metered(Allowance(100)):
            spend(50)
        with pytest.raises(WorkLimitError):
            spend(11)


def test_interruption_ends_work_once_it_is_set():
    interruption = Interruption()
    with metered(interruption):
        spend(10**9)
        interruption.set()
        with pytest.raises(InterruptedWorkError):
            spend(0)


def test_spend_bytes_charges_large_texts_alone():
    with metered(Allowance(0)):
        spend_bytes(1_000)
        with pytest.raises(WorkLimitError):
            spend_bytes(1_000_000)
