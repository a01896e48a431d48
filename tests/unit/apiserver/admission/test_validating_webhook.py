"""Validating webhooks."""

import asyncio
from typing import Any

import pytest
from tests.unit.apiserver.admission.hooked import Hooked
from tests.unit.apiserver.webhooks.servers import http_response
from tests.unit.apiserver.writing import CONFIG_MAPS, MERGE_PATCH

ALLOW = {"allowed": True}
DENY = {"allowed": False, "status": {"code": 403, "message": "no"}}
#: Failures of a webhook: its HTTP response, and a part of the error.
FAILURES = [
    (None, "EOF"),
    (b"garbage\r\n\r\n", "malformed HTTP response"),
    (http_response(b"x" * (17 * 1024 * 1024)), "response body exceeds"),
    (http_response(b"{"), "couldn't get version/kind; json parse error"),
    (http_response([]), "cannot unmarshal array"),
    (http_response({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}), "webhook response was absent"),
    (http_response({}, status=302, headers="Location: https://127.0.0.1:1/\r\n"), "status code 302"),
    (http_response(b"", status=503), "the server is currently unable to handle the request"),
]


async def test_validating_webhook_allows_and_denies():
    async with Hooked(yes=ALLOW, no=DENY) as server:
        await server.configure("validating", "yes")
        assert (await server.write()).code == 201
        await server.configure("validating", "no", configuration="b")
        answer = await server.write(name="b")
        assert (answer.code, answer.body["message"]) == (
            403,
            'admission webhook "no.example.com" denied the request: no',
        )
        assert sorted(server.called) == ["no", "yes", "yes"]


async def test_validating_webhook_gets_request_with_objects():
    async with Hooked(yes=ALLOW) as server:
        await server.configure("validating", "yes")
        await server.write()
        await server.call("DELETE", f"{CONFIG_MAPS}/a")
        (_, create), (_, delete) = server.calls
        assert (create["operation"], create["oldObject"], create["options"]["kind"]) == (
            "CREATE",
            None,
            "CreateOptions",
        )
        assert create["object"]["metadata"]["uid"]
        assert (delete["operation"], delete["object"], delete["oldObject"]["data"]) == ("DELETE", None, {"k": "v"})
        assert delete["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}


async def test_validating_webhooks_are_called_side_by_side():
    async with Hooked(a=ALLOW, b=ALLOW) as server:
        both = asyncio.Barrier(2)
        respond = server.hooks._respond

        async def together(path, review):
            await both.wait()
            return await respond(path, review)

        server.hooks._respond = together
        await server.configure("validating", "a", "b")
        assert (await server.write()).code == 201


async def test_validating_webhook_does_not_see_other_writes():
    async with Hooked(no=DENY) as server:
        await server.configure("validating", "no", objectSelector={"matchLabels": {"x": "y"}})
        assert (await server.write()).code == 201
        assert (await server.write(name="b", labels={"x": "y"})).code == 403
        await server.make("/api/v1/namespaces/default/secrets")


async def test_validating_webhook_follows_labels_of_the_namespace():
    async with Hooked(no=DENY) as server:
        await server.configure("validating", "no", namespaceSelector={"matchLabels": {"x": "y"}})
        assert (await server.write()).code == 201
        namespace = "/api/v1/namespaces/default"
        for labels, code in [({"x": "y"}, 403), ({"x": None}, 201), ({"x": "y"}, 403)]:
            change = {"metadata": {"labels": labels}}
            assert (await server.call("PATCH", namespace, change, media_type=MERGE_PATCH)).code == 200
            assert (await server.write(name="b")).code == code


async def test_validating_webhook_follows_match_conditions():
    async with Hooked(no=DENY) as server:
        conditions = [{"name": "c", "expression": "object.data.k == 'bad'"}]
        await server.configure("validating", "no", matchConditions=conditions)
        assert (await server.write()).code == 201
        assert (await server.write({"k": "bad"}, name="b")).code == 403
        answer = await server.write({"l": "v"}, name="c")
        assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
        assert "no such key: k" in answer.body["message"]
        conditions, labels = server.services.metrics.conditions, ("webhook", "no.example.com", "CREATE", "validating")
        assert (conditions.exclusions, conditions.errors) == ({labels: 1}, {labels: 1})
        assert conditions.durations[labels].count == 3


class Hanging(Hooked):
    """Server whose webhooks never answer."""

    def __init__(self) -> None:
        super().__init__()
        self.is_called = asyncio.Event()

    async def _respond(self, path: str, review: Any) -> bytes | None:
        self.is_called.set()
        await asyncio.Event().wait()
        return None


@pytest.mark.parametrize("kind", ["mutating", "validating"])
async def test_webhook_call_counts_as_failed_when_the_request_ends(kind):
    async with Hanging() as server:
        await server.configure(kind, "slow")
        write = asyncio.create_task(server.write())
        await server.is_called.wait()
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
        type_ = "admit" if kind == "mutating" else kind
        assert server.services.metrics.requests == {("503", "slow.example.com", "CREATE", "true", type_): 1}


async def test_validating_webhook_with_side_effects_rejects_dry_run():
    async with Hooked(yes=ALLOW) as server:
        await server.configure("validating", "yes", sideEffects="NoneOnDryRun")
        assert (await server.write(query="dryRun=All")).code == 201
        assert server.calls[0][1]["dryRun"] is True


@pytest.mark.parametrize(("response", "text"), FAILURES)
async def test_validating_webhook_failure_follows_failure_policy(response, text):
    async with Hooked(bad=response) as server:
        await server.configure("validating", "bad", failurePolicy="Ignore", objectSelector={"matchLabels": {"x": "y"}})
        await server.configure("validating", "bad", configuration="b", objectSelector={"matchLabels": {"x": "z"}})
        assert (await server.write(labels={"x": "y"})).code == 201
        answer = await server.write(name="b", labels={"x": "z"})
        assert (answer.code, answer.body["reason"]) == (500, "InternalError")
        assert text in answer.body["message"]
        assert answer.body["message"].startswith('Internal error occurred: failed calling webhook "bad.example.com": ')


@pytest.mark.parametrize("kind", ["validating", "mutating"])
async def test_time_of_webhooks_is_excluded_from_the_latency_of_the_server(kind):
    async with Hooked(slow={"allowed": True}) as server:

        async def respond(path, review):
            await server.clock.advance(1)
            return http_response({**review, "response": {"uid": review["request"]["uid"], "allowed": True}})

        server.hooks._respond = respond
        await server.configure(kind, "slow", timeoutSeconds=30)
        assert (await server.write()).code == 201
        assert server.latency.excluded_seconds == 1


async def test_validating_webhook_that_hangs_costs_its_timeout_and_holds_up_no_other_request():
    async with Hooked(slow=DENY) as server:
        requested = asyncio.Event()

        async def hang(path, review):
            requested.set()
            await asyncio.Event().wait()

        server.hooks._respond = hang
        await server.configure("validating", "slow", timeoutSeconds=1)
        waiting = asyncio.create_task(server.write())
        await requested.wait()
        await server.make("/api/v1/namespaces/default/secrets")
        await server.clock.advance(1)
        answer = await waiting
        assert answer.code == 500
        assert answer.body["message"].endswith('/slow?timeout=1s": context deadline exceeded')
