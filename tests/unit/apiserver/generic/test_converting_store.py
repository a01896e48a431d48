"""Generic store of a converted version."""

from functools import partial

from tests.unit.apiserver.crd.converting import MERGE, V1, V2, request, screen

SMALL = {"width": 1, "height": 2}


async def test_object_is_stored_although_it_cannot_be_converted_back(converting_server, converter):
    def once(review):
        if review["response"]["convertedObjects"][0]["apiVersion"] == "example.com/v2":
            review["response"]["result"] = {"status": "Failure", "message": "cannot read this"}
        return review

    converter.change = once
    answer = await request(converting_server, "POST", V2, screen("a", SMALL, version="v2"))
    assert (answer["code"], answer["message"].endswith("failed: cannot read this")) == (500, True)
    assert (await request(converting_server, "GET", f"{V1}/a"))["spec"] == {"size": "1x2"}


async def test_update_that_loses_a_race_is_repeated_on_the_converted_winner(converting_server, converter):
    await request(converting_server, "POST", V1, screen("a", {"size": "1x2"}))
    converter.before_v1 = partial(request, converting_server, "PATCH", f"{V1}/a", {"spec": {"replicas": 4}}, **MERGE)
    patched = await request(converting_server, "PATCH", f"{V2}/a", {"spec": {"width": 9}}, **MERGE)
    assert patched["spec"] == {"width": 9, "height": 2, "replicas": 4}


async def test_last_finalizer_removes_the_object(converting_server):
    await request(converting_server, "POST", V2, screen("a", SMALL, version="v2", finalizers=["example.com/hold"]))
    await request(converting_server, "DELETE", f"{V1}/a")
    removed = await request(converting_server, "PATCH", f"{V2}/a", {"metadata": {"finalizers": None}}, **MERGE)
    assert removed["spec"] == SMALL
    assert (await request(converting_server, "GET", f"{V2}/a"))["code"] == 404
