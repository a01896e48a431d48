"""Options of controllers."""

from __future__ import annotations

from steersman.controllers.options import ControllerOptions


def test_nothing_told_means_all_that_are_on_by_default():
    assert ControllerOptions().controllers == ("*",)
