"""Conversion webhooks: which objects they are asked for, and errors in upstream's words."""

import pytest
from tests.unit.apiserver.crd.converting import (
    APPLY,
    MERGE,
    V1,
    V2,
    Converter,
    converted_screens,
    request,
    screen,
)
from tests.unit.apiserver.webhooks.servers import http_response

SMALL = {"size": "1x2"}
SMALL_V2 = {"width": 1, "height": 2}


async def test_get_converts_to_the_version_of_the_request(converting_server, converter):
    response = await request(converting_server, "POST", V1, screen("a", SMALL))
    assert not converter.calls
    shown = await request(converting_server, "GET", f"{V2}/a")
    assert (shown["apiVersion"], shown["spec"]) == ("example.com/v2", SMALL_V2)
    assert {**shown["metadata"], "managedFields": 0} == {**response["metadata"], "managedFields": 0}
    [review] = converter.bodies
    assert (review["apiVersion"], review["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    assert review["request"]["desiredAPIVersion"] == "example.com/v2"
    assert converter.targets == ["/convert?timeout=30s"]


async def test_list_converts_all_objects_in_one_call(converting_server, converter):
    for name in "abc":
        await request(converting_server, "POST", V1, screen(name, SMALL))
    listed = await request(converting_server, "GET", V2)
    assert [(item["metadata"]["name"], item["spec"]) for item in listed["items"]] == [(n, SMALL_V2) for n in "abc"]
    assert converter.calls == [["a", "b", "c"]]
    await request(converting_server, "GET", V1)
    assert len(converter.calls) == 1


async def test_pages_convert_their_own_objects(converting_server, converter):
    for name in "abc":
        await request(converting_server, "POST", V1, screen(name, SMALL))
    page = await request(converting_server, "GET", f"{V2}?limit=2")
    await request(converting_server, "GET", f"{V2}?limit=2&continue={page['metadata']['continue']}")
    assert converter.calls == [["a", "b"], ["c"]]


async def test_selectors_see_labels_and_fields_of_the_version_served(converting_server, converter):
    def relabel(review):
        for converted_object in review["response"]["convertedObjects"]:
            converted_object["metadata"]["labels"] = {
                "wide": "yes" if converted_object["spec"].get("width", 0) > 5 else "no"
            }
        return review

    await request(converting_server, "POST", V1, screen("a", SMALL))
    await request(converting_server, "POST", V1, screen("b", {"size": "9x2"}))
    converter.change = relabel
    wide = [
        await request(converting_server, "GET", f"{V2}?{query}")
        for query in ("labelSelector=wide=yes", "fieldSelector=spec.width=9")
    ]
    assert [[item["metadata"]["name"] for item in entry["items"]] for entry in wide] == [["b"], ["b"]]
    assert (await request(converting_server, "GET", f"{V2}?fieldSelector=spec.size=9x2"))["code"] == 400


async def test_tables_and_partial_metadata_show_the_version_served(converting_server):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    table = await request(converting_server, "GET", V2, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [row["cells"] for row in table["rows"]] == [["a", 1]]
    assert [row["object"]["kind"] for row in table["rows"]] == ["PartialObjectMetadata"]
    partial = await request(
        converting_server, "GET", f"{V2}/a", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    )
    assert partial["metadata"]["name"] == "a"


async def test_writes_are_stored_in_the_storage_version_and_answered_in_their_own(converting_server, converter):
    response = await request(converting_server, "POST", V2, screen("a", SMALL_V2, version="v2"))
    assert (response["apiVersion"], response["spec"]) == ("example.com/v2", SMALL_V2)
    assert [body["request"]["desiredAPIVersion"] for body in converter.bodies] == ["example.com/v1", "example.com/v2"]
    assert (await request(converting_server, "GET", f"{V1}/a"))["spec"] == SMALL
    response["spec"]["width"] = 5
    assert (await request(converting_server, "PUT", f"{V2}/a", response))["spec"]["width"] == 5
    patched = await request(converting_server, "PATCH", f"{V2}/a", {"spec": {"height": 7}}, **MERGE)
    assert (patched["spec"], patched["metadata"]["generation"]) == ({"width": 5, "height": 7}, 3)
    assert (await request(converting_server, "GET", f"{V1}/a"))["spec"] == {"size": "5x7"}


async def test_update_that_changes_nothing_is_not_stored(converting_server):
    response = await request(converting_server, "POST", V2, screen("a", SMALL_V2, version="v2"))
    again = await request(converting_server, "PUT", f"{V2}/a", response)
    assert again["metadata"]["resourceVersion"] == response["metadata"]["resourceVersion"]


async def test_dry_run_converts_and_stores_nothing(converting_server, converter):
    response = await request(converting_server, "POST", f"{V2}?dryRun=All", screen("a", SMALL_V2, version="v2"))
    assert (response["spec"], "resourceVersion" in response["metadata"]) == (SMALL_V2, False)
    assert len(converter.calls) == 2
    assert (await request(converting_server, "GET", f"{V1}/a"))["code"] == 404


async def test_managed_fields_of_other_versions_are_converted(converting_server):
    await request(converting_server, "PATCH", f"{V1}/a?fieldManager=one", screen("a", {"size": "1x2"}), **APPLY)
    clash = await request(
        converting_server, "PATCH", f"{V2}/a?fieldManager=two", screen("a", {"width": 9}, version="v2"), **APPLY
    )
    assert clash["code"] == 409
    assert clash["details"]["causes"][0]["field"] == ".spec.size"
    forced = await request(
        converting_server,
        "PATCH",
        f"{V2}/a?fieldManager=two&force=true",
        screen("a", {"width": 9}, version="v2"),
        **APPLY,
    )
    assert forced["spec"] == {"width": 9, "height": 2}
    owners = {
        managed_entry["manager"]: (managed_entry["apiVersion"], managed_entry["fieldsV1"])
        for managed_entry in forced["metadata"]["managedFields"]
    }
    assert owners["two"] == ("example.com/v2", {"f:spec": {"f:width": {}}})
    assert "one" not in owners


async def test_status_and_scale_are_converted(converting_server):
    await request(converting_server, "POST", V1, screen("a", {**SMALL, "replicas": 3}))
    shown = await request(converting_server, "PATCH", f"{V2}/a/status", {"status": {"shown": 2}}, **MERGE)
    assert (shown["status"], shown["spec"]["width"]) == ({"shown": 2}, 1)
    assert (await request(converting_server, "GET", f"{V2}/a/status"))["apiVersion"] == "example.com/v2"
    scale = await request(converting_server, "GET", f"{V2}/a/scale")
    assert (scale["spec"], scale["status"]["replicas"]) == ({"replicas": 3}, 2)
    scale = await request(converting_server, "PATCH", f"{V2}/a/scale", {"spec": {"replicas": 5}}, **MERGE)
    assert scale["spec"] == {"replicas": 5}
    assert (await request(converting_server, "GET", f"{V1}/a"))["spec"] == {**SMALL, "replicas": 5}


async def test_delete_with_a_finalizer_answers_in_the_version_of_the_request(converting_server):
    await request(converting_server, "POST", V1, screen("a", SMALL, finalizers=["example.com/hold"]))
    left = await request(converting_server, "DELETE", f"{V2}/a")
    assert (left["apiVersion"], left["spec"]) == ("example.com/v2", SMALL_V2)
    assert left["metadata"]["deletionTimestamp"]
    await request(converting_server, "PATCH", f"{V2}/a", {"metadata": {"finalizers": None}}, **MERGE)
    assert (await request(converting_server, "GET", f"{V1}/a"))["code"] == 404


async def test_deletecollection_answers_in_the_version_of_the_request(converting_server):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    deleted = await request(converting_server, "DELETE", V2)
    assert [item["spec"] for item in deleted["items"]] == [SMALL_V2]
    assert not (await request(converting_server, "GET", V1))["items"]


async def test_only_labels_and_annotations_of_metadata_may_change(converting_server, converter):
    def change(review):
        for converted_object in review["response"]["convertedObjects"]:
            converted_object["metadata"] |= {
                "labels": {"a": "b"},
                "annotations": {"c": "d"},
                "generation": 99,
                "finalizers": ["x/y"],
            }
        return review

    await request(converting_server, "POST", V1, screen("a", SMALL))
    converter.change = change
    metadata = (await request(converting_server, "GET", f"{V2}/a"))["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"a": "b"}, {"c": "d"})
    assert (metadata["generation"], "finalizers" in metadata) == (1, False)


def of_first(**fields):
    def change(review):
        review["response"]["convertedObjects"][0] |= fields
        return review

    return change


def of_metadata(**fields):
    def change(review):
        review["response"]["convertedObjects"][0]["metadata"] |= fields
        return review

    return change


def of_response(**fields):
    return lambda review: {**review, "response": {**review["response"], **fields}}


PREFIX = "conversion webhook for example.com/v1, Kind=Screen "
INVALID = "returned invalid object: "
INVALID_TYPE = "returned invalid object at index 0: "
FAULTS = {
    "apiVersion": (
        of_first(apiVersion="example.com/v3"),
        f"{INVALID_TYPE}invalid groupVersion (expected example.com/v2, received example.com/v3)",
    ),
    "kind": (of_first(kind="Other"), f"{INVALID_TYPE}invalid kind (expected Screen, received Other)"),
    "name": (of_metadata(name="b"), f"{INVALID}must have the same name: a != b"),
    "namespace": (of_metadata(namespace="b"), f"{INVALID}must have the same namespace: default != b"),
    "no metadata": (of_first(metadata=None), f"{INVALID}must have the same name: a != "),
    "label": (
        of_metadata(labels={"a": 1}),
        "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
    ),
    "labels": (
        of_metadata(labels=[]),
        "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object",
    ),
    "dropped": (of_response(convertedObjects=[]), "returned 0 objects, expected 1"),
    "failure": (of_response(result={"status": "Failure", "message": "no way"}), "failed: no way"),
    "no result": (of_response(result={}), "failed: response.result.status was '', not 'Success'"),
    "no response": (lambda review: {**review, "response": None}, "failed: no response provided"),
    "kind of review": (
        lambda review: {**review, "kind": ""},
        "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=",
    ),
    "garbage": (lambda _: http_response(b"<html>"), "failed: couldn't get version/kind; json parse error: "),
    "status code": (
        lambda _: http_response(b"", status=500),
        'failed: an error on the server ("unknown") has prevented the request from succeeding',
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_wrong_answer_is_a_500_in_upstreams_words(converting_server, converter, fault):
    change, text = FAULTS[fault]
    await request(converting_server, "POST", V1, screen("a", SMALL))
    converter.change = change
    for path in (f"{V2}/a", V2):
        status = await request(converting_server, "GET", path)
        assert (status["code"], status["message"].startswith(PREFIX + text)) == (500, True), status["message"]
        assert "reason" not in status


async def test_object_without_kind_is_a_500_that_does_not_name_the_webhook(converting_server, converter):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    converter.change = of_response(convertedObjects=[{"a": 1}])
    status = await request(converting_server, "GET", f"{V2}/a")
    assert (status["code"], status["message"]) == (500, "Object 'Kind' is missing in '{\"a\":1}'")


async def test_wrong_uids_are_named(converting_server, converter):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    converter.change = of_response(uid="other")
    status = await request(converting_server, "GET", f"{V2}/a")
    assert f'expected response.uid="{converter.bodies[-1]["request"]["uid"]}", got "other"' in status["message"]
    converter.change = of_metadata(uid="other")
    assert "must have the same UID: " in (await request(converting_server, "GET", f"{V2}/a"))["message"]


async def test_reordered_objects_are_refused(converting_server, converter):
    def reverse(review):
        review["response"]["convertedObjects"].reverse()
        return review

    for name in "ab":
        await request(converting_server, "POST", V1, screen(name, SMALL))
    converter.change = reverse
    assert "at index 0: must have the same name: a != b" in (await request(converting_server, "GET", V2))["message"]


async def test_every_verb_of_another_version_fails_while_the_webhook_is_down(converting_server, converter):
    response = await request(converting_server, "POST", V1, screen("a", {**SMALL, "replicas": 1}))
    converter.is_down = True
    body = {**screen("a", SMALL_V2, version="v2"), "metadata": response["metadata"]}
    patch = {"metadata": {"annotations": {"a": "b"}}}
    answers = [
        await request(converting_server, "GET", f"{V2}/a"),
        await request(converting_server, "GET", V2),
        await request(converting_server, "POST", V2, screen("b", SMALL_V2, version="v2")),
        await request(converting_server, "PUT", f"{V2}/a", body),
        await request(converting_server, "PATCH", f"{V2}/a", patch, **MERGE),
        await request(converting_server, "DELETE", f"{V2}/a"),
        await request(converting_server, "DELETE", V2),
        await request(converting_server, "GET", f"{V2}/a/status"),
        await request(converting_server, "PATCH", f"{V2}/a/status", patch, **MERGE),
        await request(converting_server, "GET", f"{V2}/a/scale"),
        await request(converting_server, "PATCH", f"{V2}/a/scale", {"spec": {"replicas": 2}}, **MERGE),
    ]
    for answer in answers:
        assert (answer["code"], "failed: Post" in answer["message"], answer["message"][-5:]) == (500, True, ": EOF")
    assert (await request(converting_server, "GET", f"{V1}/a"))["metadata"] == response["metadata"]
    assert (await request(converting_server, "DELETE", f"{V1}/a"))["status"] == "Success"


async def test_objects_of_an_unsupported_review_version_are_not_sent():
    converter = Converter()
    async with converted_screens(converter, versions=("v7", "v1beta1", "v1")) as converting_server:
        converter.change = of_response(uid="")  # v1beta1 does not require one
        await request(converting_server, "POST", V1, screen("a", SMALL))
        assert (await request(converting_server, "GET", f"{V2}/a"))["spec"] == SMALL_V2
        assert converter.bodies[0]["apiVersion"] == "apiextensions.k8s.io/v1beta1"


async def test_calls_are_counted_by_outcome(converting_server, converter):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    await request(converting_server, "GET", f"{V2}/a")
    converter.is_down = True
    await request(converting_server, "GET", f"{V2}/a")
    text = (await converting_server.request("GET", "/metrics")).body.decode()
    assert 'apiserver_conversion_webhook_request_total{failure_type="",result="success"} 1' in text
    assert 'failure_type="conversion_webhook_call_failure",result="failure"} 1' in text
    labels = 'crd_name="screens.example.com",from_version="v1",succeeded="true",to_version="v2"'
    assert f"apiserver_crd_conversion_webhook_duration_seconds_count{{{labels}}} 1" in text
