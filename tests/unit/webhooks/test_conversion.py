"""Conversion webhooks: reviews in, reviews out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client import custom
from steersman.webhooks import ConversionError, Converter
from steersman.webhooks.conversion import ConversionWebhook
from steersman.webhooks.reviews import ReviewError


class Screen(msgspec.Struct):
    metadata: ObjectMeta
    width: int
    height: int


V1, V3 = (custom(f"example.com/{version}", "Screen", plural="screens") for version in ("v1", "v3"))
V2 = custom("example.com/v2", "Screen", plural="screens", model=Screen)
OTHER = custom("example.com/v1", "Door", plural="doors")


def make_converter() -> Converter:
    """Return a converter of ``size: 3x4`` (v1, v3 with another name) and the hub's width and height."""
    converter = Converter(V2)

    @converter.add(V1, V2)
    def split(screen: dict[str, Any]) -> Screen:
        width, by, height = screen["size"].partition("x")
        if not by:
            raise ConversionError(f"size {screen['size']!r} is not WIDTHxHEIGHT")
        return Screen(ObjectMeta(labels={"split": "yes"}), int(width), int(height))

    @converter.add(V2, V1)
    async def join(screen: Screen) -> dict[str, Any]:
        screen.metadata.annotations = {"joined": "yes"}
        screen.metadata.name = "changed"
        return {"metadata": msgspec.to_builtins(screen.metadata), "size": f"{screen.width}x{screen.height}"}

    @converter.add(V2, V3)
    def name_area(screen: Screen) -> dict[str, Any]:
        return {"area": f"{screen.width}x{screen.height}"}

    @converter.add(V3, V2)
    def split_area(screen: dict[str, Any]) -> Screen:
        return split({"size": screen.pop("area")})

    return converter


def screen(name: str, version: str = "v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"u-{name}", "new": 1}
    return {"apiVersion": f"example.com/{version}", "kind": "Screen", "metadata": metadata, **fields}


def review(objects: list[Any], desired: str = "example.com/v2", *, version: str = "v1") -> bytes:
    request = {"uid": "u1", "desiredAPIVersion": desired, "objects": objects}
    body = {"apiVersion": f"apiextensions.k8s.io/{version}", "kind": "ConversionReview", "request": request}
    return json.dumps(body).encode()


async def response_of(body: bytes) -> dict[str, Any]:
    answer = json.loads(await ConversionWebhook([make_converter()]).review(body))
    response: dict[str, Any] = answer["response"]
    assert response["uid"] == "u1"
    return response


async def converted(*objects: Any, desired: str = "example.com/v2") -> list[dict[str, Any]]:
    response = await response_of(review(list(objects), desired))
    assert response["result"] == {"status": "Success"}
    results: list[dict[str, Any]] = response["convertedObjects"]
    return results


async def test_objects_are_converted_in_their_order() -> None:
    results = await converted(screen("a", size="1x2"), screen("b", "v2", width=5, height=6), screen("c", size="3x4"))
    assert [(one["apiVersion"], one["kind"], one["width"]) for one in results] == [
        ("example.com/v2", "Screen", width) for width in (1, 5, 3)
    ]


async def test_versions_without_a_function_are_converted_by_way_of_the_hub() -> None:
    (result,) = await converted(screen("a", "v3", area="3x4"), desired="example.com/v1")
    assert (result["apiVersion"], result["size"]) == ("example.com/v1", "3x4")


async def test_only_labels_and_annotations_are_taken_from_the_result() -> None:
    (result,) = await converted(screen("a", "v2", width=1, height=2), desired="example.com/v1")
    assert result["metadata"] == {"name": "a", "uid": "u-a", "new": 1, "annotations": {"joined": "yes"}}
    labelled = screen("a", size="1x2")
    labelled["metadata"]["labels"] = {"former": "yes"}
    (result,) = await converted(labelled)
    assert result["metadata"]["labels"] == {"split": "yes"}


async def test_list_without_objects_is_converted() -> None:
    assert await converted() == []


async def test_other_work_of_the_loop_runs_while_a_long_list_is_converted() -> None:
    ended: list[str] = []

    async def convert() -> None:
        await converted(*(screen(str(number), size="1x2") for number in range(200)))
        ended.append("conversion")

    async def other() -> None:
        ended.append("other")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(convert())
        tasks.create_task(other())
    assert ended == ["other", "conversion"]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_response_has_the_version_of_the_request(version: str) -> None:
    answer = json.loads(await ConversionWebhook([make_converter()]).review(review([], version=version)))
    assert answer["apiVersion"] == f"apiextensions.k8s.io/{version}"


@pytest.mark.parametrize(
    ("objects", "desired", "message"),
    [
        ([screen("a", size="big")], "example.com/v2", "size 'big' is not WIDTHxHEIGHT"),
        ([screen("a", size="1x2")], "example.com/v7", "the webhook does not know version v7 of Screen"),
        ([screen("a", "v7")], "example.com/v2", "the webhook does not know version v7 of Screen"),
        ([screen("a", size="1x2")], "example.org/v2", "example.com/v2 Screen cannot be converted to example.org/v2"),
        ([{**screen("a"), "kind": "Door"}], "example.com/v2", "the webhook does not convert example.com/v1 Door"),
        ([{}], "example.com/v2", "the webhook does not convert  "),
    ],
)
async def test_conversion_that_is_impossible_fails_as_a_whole(objects: Any, desired: str, message: str) -> None:
    response = await response_of(review([screen("ok", "v2", width=1, height=1), *objects], desired))
    assert response["result"] == {"status": "Failure", "message": message}
    assert response["convertedObjects"] == []


async def test_object_that_does_not_fit_its_class_fails() -> None:
    response = await response_of(review([screen("a", "v2", width="wide")], "example.com/v1"))
    assert "cannot decode the object" in response["result"]["message"]


async def test_exception_is_a_failure_whose_reason_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    response = await response_of(review([screen("a", size="axb")]))
    message = "the conversion failed, see the log of the webhook"
    assert response["result"] == {"status": "Failure", "message": message}
    (record,) = caplog.records
    assert record.exc_info is not None


async def test_function_that_returns_no_object_fails(caplog: pytest.LogCaptureFixture) -> None:
    converter = Converter(V1)
    converter.add(V1, V3)(lambda screen: None)
    converter.add(V3, V1)(lambda screen: screen)
    answer = json.loads(await ConversionWebhook([converter]).review(review([screen("a")], "example.com/v3")))
    assert (answer["response"]["result"]["status"], len(caplog.records)) == ("Failure", 1)


@pytest.mark.parametrize("body", [b"", b"{}", review([]).replace(b"Conversion", b"Admission"), review([1])])
async def test_body_that_is_no_review_is_an_error(body: bytes) -> None:
    with pytest.raises(ReviewError):
        await ConversionWebhook([make_converter()]).review(body)


def test_converter_without_a_way_back_is_rejected() -> None:
    converter = Converter(V2)
    converter.add(V1, V2)(lambda screen: screen)
    with pytest.raises(ValueError, match="Screen: no conversion from v2 to v1"):
        ConversionWebhook([converter])


def test_converters_of_one_kind_are_rejected() -> None:
    with pytest.raises(ValueError, match="two converters for Screen"):
        ConversionWebhook([make_converter(), make_converter()])


def test_functions_of_another_kind_or_for_a_pair_that_has_one_are_rejected() -> None:
    converter = make_converter()
    with pytest.raises(ValueError, match="Door is no version of Screen"):
        converter.add(OTHER, V2)
    with pytest.raises(ValueError, match="a second conversion from v1 to v2"):
        converter.add(V1, V2)
    with pytest.raises(ValueError, match="registered with another class"):
        converter.add(V2.as_trees(), V1)
    with pytest.raises(TypeError, match="the conversion from v1 to v3"):
        converter.add(V1, V3)(lambda: None)
