from __future__ import annotations

from steersman.apiserver.admission.interface import Attributes, Plugin, plugins_overriding


class Mutates(Plugin):
    name = "AlwaysAdmit"

    async def admit(self, attributes: Attributes) -> None:
        """Do nothing."""


class Validates(Plugin):
    name = "AlwaysDeny"

    async def validate(self, attributes: Attributes) -> None:
        """Do nothing."""


def test_plugins_overriding_returns_plugins_that_override_the_method():
    mutates, validates = Mutates(), Validates()
    assert plugins_overriding("admit", [mutates, validates]) == (mutates,)
    assert plugins_overriding("validate", [mutates, validates]) == (validates,)
