"""Order of the steps, for every verb and subresource that stores an object."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, DEPLOYMENTS, Server, deployment

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.create import Create
from steersman.apiserver.endpoints.patch import PatchWrite
from steersman.apiserver.endpoints.update import Update
from steersman.apiserver.generic.server_writes import Change
from steersman.apiserver.generic.write_pipeline import ATTEMPTS_MAX, Write
from steersman.storage.store import Conflict

pytestmark = pytest.mark.interpreted

STEPS = (
    "decode", "match_path", "default", "manage_fields", "convert", "mutate", "after_mutation",
    "identify", "prepare", "validate", "admit", "commit",
)  # fmt: skip


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the steps that were called, in order."""
    called: list[str] = []

    def record(verb: type[Write], name: str) -> None:
        step = getattr(verb, name)

        def recorded(write: Write) -> Any:
            called.append(name)
            return step(write)

        monkeypatch.setattr(verb, name, recorded)

    for verb in (Create, Update, PatchWrite):
        for name in STEPS:
            record(verb, name)
    return called


async def test_post_patch_and_apply_pass_the_same_steps(steps: list[str]) -> None:
    async with Server() as server:
        steps.clear()
        await server.make(data={"k": "v"})
        assert steps == list(STEPS)
        steps.clear()
        assert (await server.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "w"}})).code == 200
        assert steps == list(STEPS)
        steps.clear()
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"l": "x"}}
        assert (await server.apply(f"{CONFIG_MAPS}/a", config)).code == 200
        assert steps == list(STEPS)


@pytest.mark.parametrize("subresource", ["", "/status", "/scale"])
async def test_put_of_objects_and_subresources_passes_the_same_steps(steps: list[str], subresource: str) -> None:
    async with Server() as server:
        await server.make(DEPLOYMENTS, spec=deployment())
        stored = (await server.call("GET", f"{DEPLOYMENTS}/a{subresource}")).body
        steps.clear()
        assert (await server.call("PUT", f"{DEPLOYMENTS}/a{subresource}", stored)).code == 200
        assert steps == list(STEPS)


async def test_update_decodes_before_it_looks_for_the_object(steps: list[str]) -> None:
    async with Server() as server:
        steps.clear()
        assert (await server.call("PUT", f"{CONFIG_MAPS}/missing", {"metadata": {"name": "other"}})).code == 400
        assert steps == ["decode", "match_path"]


async def test_conflict_repeats_all_steps_on_the_stored_object(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Server() as server:
        created = await server.make(data={"k": "v"})
        objects = server.registry.stored("configmaps").objects
        commit, races = Update.commit, []

        async def racing(write: Write) -> Any:
            if not races:
                races.append(True)

                async def transform(old: Any) -> Any:
                    return {**old, "metadata": {**old["metadata"], "labels": {"winner": "x"}}}

                await objects.update(server.context(), "a", Change(transform))
            return await commit(write)

        monkeypatch.setattr(Update, "commit", racing)
        body = {"metadata": {"name": "a", "labels": {"loser": "y"}}, "data": created["data"]}
        steps.clear()
        answer = await server.call("PUT", f"{CONFIG_MAPS}/a", body)
        assert (answer.code, answer.body["metadata"]["labels"]) == (200, {"loser": "y"})
        assert steps == [*STEPS, *STEPS]


async def test_update_that_always_loses_is_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    async def lose(write: Write) -> Any:
        attempts.append(write.name)
        raise Conflict("key", None)

    async with Server() as server:
        await server.make(data={"k": "v"})
        monkeypatch.setattr(Update, "commit", lose)
        answer = await server.call("PUT", f"{CONFIG_MAPS}/a", {"metadata": {"name": "a"}})
        assert answer.code == 409
        assert len(attempts) == 1 + ATTEMPTS_MAX


async def test_error_of_one_step_ends_the_write(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(write: Write) -> None:
        raise StatusError(write.objects.taken(write.ctx, "a", None).status)

    async with Server() as server:
        monkeypatch.setattr(Create, "validate", refuse)
        steps.clear()
        assert (await server.call("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})).code == 409
        assert steps == list(STEPS[:9])
        assert (await server.call("GET", f"{CONFIG_MAPS}/a")).code == 404
