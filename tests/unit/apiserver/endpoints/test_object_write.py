from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, Server

from steersman.apiserver.admission.interface import Operation, Plugin

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}


class Owning(Plugin):
    """Adds an owner reference twice, and records the operations that it sees."""

    name = "RuntimeClass"

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str]] = []

    def handles(self, resource: Any, subresource: str, operation: Operation) -> bool:
        return resource.name in ("configmaps", "leases")

    def admit(self, attributes: Any) -> None:
        if attributes.operation is not Operation.DELETE:
            attributes.object["metadata"]["ownerReferences"] = [OWNER, dict(OWNER)]
        self.calls.append(("admit", attributes.operation, attributes.name))

    def validate(self, attributes: Any) -> None:
        self.calls.append(("validate", attributes.operation, attributes.name))


async def test_owner_references_are_deduplicated_after_mutating_admission() -> None:
    async with Server(Owning()) as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert answer.body["metadata"]["ownerReferences"] == [OWNER]
        assert "after mutating admission happens" in answer.warnings[0]


async def test_admission_sees_the_generated_name_only_when_it_validates() -> None:
    plugin = Owning()
    async with Server(plugin) as server:
        answer = await server.call("POST", CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
        name = answer.body["metadata"]["name"]
        assert plugin.calls == [("admit", "CREATE", ""), ("validate", "CREATE", name)]


@pytest.mark.parametrize(("forbidden", "code"), [("", 201), ("create", 403)])
async def test_create_on_update_requires_the_create_permission(forbidden: str, code: int) -> None:
    plugin = Owning()
    async with Server(plugin, forbidden_verb=forbidden) as server:
        answer = await server.call(
            "PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/a", {"metadata": {"name": "a"}}
        )
        assert answer.code == code
        assert plugin.calls[0] == ("admit", "CREATE", "a")
        assert (("validate", "CREATE", "a") in plugin.calls) == (code == 201)
