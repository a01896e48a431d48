"""Options of controllers."""

from __future__ import annotations

from steersman.controllers.options import ControllerOptions


def test_default_enables_all_controllers_on_by_default():
    assert ControllerOptions().controllers == ("*",)
