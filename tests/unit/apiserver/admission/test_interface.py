from __future__ import annotations

from steersman.apiserver.admission.interface import Attributes, Plugin, plugins_that


class Mutates(Plugin):
    name = "AlwaysAdmit"

    async def admit(self, attributes: Attributes) -> None:
        """Nothing."""


class Validates(Plugin):
    name = "AlwaysDeny"

    async def validate(self, attributes: Attributes) -> None:
        """Nothing."""


def test_a_plugin_takes_part_in_what_it_overrides():
    mutates, validates = Mutates(), Validates()
    assert plugins_that("admit", [mutates, validates]) == (mutates,)
    assert plugins_that("validate", [mutates, validates]) == (validates,)
