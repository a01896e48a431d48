"""Path items of a few operations."""

import msgspec

from steersman.apiserver.openapi.operations import Operation
from steersman.apiserver.openapi.path_items import encode_path_items

READ = Operation("GET", "/things/{name}", "readThing", "read", "get", "t", ("", "v1", "Thing"), answer="x.Thing")
REPLACE = Operation(
    "PUT",
    "/things/{name}",
    "replaceThing",
    "replace",
    "put",
    "t",
    ("", "v1", "Thing"),
    ("dryRun",),
    "x.Thing",
    answer="x.Thing",
)
LIST = Operation(
    "GET",
    "/things",
    "listThing",
    "list",
    "list",
    "t",
    ("", "v1", "Thing"),
    ("limit",),
    answer="x.ThingList",
    produces=("application/json", "application/json;stream=watch"),
)


def decoded(*operations: Operation, v3: bool = False) -> dict:
    return {path: msgspec.json.decode(item) for path, item in encode_path_items(operations, v3=v3).items()}


def test_path_parameters_are_listed_once_per_path():
    item = decoded(READ, REPLACE)["/things/{name}"]
    assert [p["name"] for p in item["parameters"]] == ["name", "pretty"]
    assert {"get", "put"} <= item.keys()


def test_only_parameters_of_all_operations_are_lifted():
    item = decoded(READ, REPLACE)["/things/{name}"]
    assert [p["name"] for p in item["put"]["parameters"]] == ["body", "dryRun"]
    assert [p["name"] for p in decoded(LIST)["/things"]["parameters"]] == ["limit", "pretty"]


def test_responses_refer_to_definitions():
    get = decoded(READ)["/things/{name}"]["get"]
    assert get["responses"]["200"]["schema"] == {"$ref": "#/definitions/x.Thing"}
    assert "schema" not in get["responses"]["401"]


def test_version_3_has_bodies_and_responses_by_media_type():
    put = decoded(REPLACE, v3=True)["/things/{name}"]["put"]
    assert put["requestBody"]["content"]["*/*"]["schema"] == {"$ref": "#/components/schemas/x.Thing"}
    assert "application/json" in put["responses"]["200"]["content"]


def test_lists_have_stream_media_types():
    assert decoded(LIST)["/things"]["get"]["produces"] == ["application/json", "application/json;stream=watch"]
    content = decoded(LIST, v3=True)["/things"]["get"]["responses"]["200"]["content"]
    assert list(content) == ["application/json", "application/json;stream=watch"]


def test_version_2_names_the_scheme_and_leaves_out_absent_bodies():
    discovery = Operation("GET", "/keys/", "readKeys", "read", "", "t", consumes=(), answer="string")
    get = decoded(discovery)["/keys/"]["get"]
    assert get["schemes"] == ["https"]
    assert "consumes" not in get


def test_operations_have_action_and_kind():
    get = decoded(READ)["/things/{name}"]["get"]
    assert get["x-kubernetes-action"] == "get"
    assert get["x-kubernetes-group-version-kind"] == {"group": "", "kind": "Thing", "version": "v1"}


PATCH = Operation(
    "PATCH", "/x/{name}", "patchX", "", "patch", "t", ("g", "v1", "X"), body="x.Patch", consumes=("a/b", "c/d")
)


def test_both_versions_list_the_media_types_of_a_patch():
    assert decoded(PATCH)["/x/{name}"]["patch"]["consumes"] == ["a/b", "c/d"]
    assert list(decoded(PATCH, v3=True)["/x/{name}"]["patch"]["requestBody"]["content"]) == ["a/b", "c/d"]


def test_operation_without_own_parameters_has_no_list_of_them():
    for v3 in (False, True):
        assert "parameters" not in decoded(READ, v3=v3)["/things/{name}"]["get"]
    assert (
        "parameters" not in decoded(REPLACE, v3=True)["/things/{name}"]["put"]
    )  # all are lifted; the body is no parameter in version 3
    assert [p["name"] for p in decoded(REPLACE)["/things/{name}"]["put"]["parameters"]] == ["body"]
