"""Options of lists and watches; what they refuse is tested through the verbs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.reading import PODS, World, request

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.list_options import list_options, read_list_options
from steersman.apiserver.generic.listing import NOT_OLDER_THAN
from steersman.apiserver.workers import is_large

WORLD = World(PODS)


def read(query: dict[str, str], *, watch: bool = False, name: str = ""):
    return read_list_options(WORLD.served, request(query, namespace="ns", name=name), watch=watch)


def test_empty_query_selects_the_whole_namespace():
    options = read({})
    assert options.selection.takes_all
    assert options.selection.scope == "/registry/pods/ns/"


@pytest.mark.parametrize("version", ["", "0"])
def test_watch_without_resource_version_has_initial_events(version):
    options = read({"resourceVersion": version}, watch=True)
    assert options.send_initial_events is True
    assert options.match == NOT_OLDER_THAN


def test_watch_from_a_resource_version_has_no_initial_events():
    assert read({"resourceVersion": "5"}, watch=True).send_initial_events is None


@pytest.mark.parametrize(("text", "expected"), [("", True), ("yes", True), ("1", True), ("0", False), ("False", False)])
def test_boolean_parameters_follow_go(text, expected):
    assert read({"allowWatchBookmarks": text}).allow_bookmarks is expected


def test_name_in_the_path_must_match_the_field_selector():
    assert read({}, watch=True, name="a").selection.is_single
    assert read({"fieldSelector": "metadata.name=a"}, watch=True, name="a").selection.is_single
    with pytest.raises(StatusError) as refused:
        read({"fieldSelector": "metadata.name=b"}, watch=True, name="a")
    assert refused.value.message == "fieldSelector metadata.name doesn't match requested name"


names = st.sampled_from(
    [
        "limit",
        "continue",
        "resourceVersion",
        "resourceVersionMatch",
        "labelSelector",
        "fieldSelector",
        "watch",
        "timeoutSeconds",
        "sendInitialEvents",
        "shardSelector",
        "allowWatchBookmarks",
        "other",
    ]
)


@given(query=st.dictionaries(names, st.text(max_size=20) | st.integers().map(str)), watch=st.booleans())
def test_no_list_query_causes_a_server_error(query, watch):
    try:
        read({key: value.encode(errors="ignore").decode() for key, value in query.items()}, watch=watch)
    except StatusError as error:
        assert error.code in (400, 422)  # noqa: PT017 — most queries are fine


async def test_list_options_of_a_long_query_equal_those_read_at_once():
    query = {"labelSelector": ",".join(f"!k{number}" for number in range(10_000)), "limit": "5"}
    long_request = request(query, namespace="ns")
    assert is_large(len(long_request.raw_query))
    options = await list_options(WORLD.served, long_request)
    assert options.limit == 5
    assert options.selection.identity == read(query).selection.identity
