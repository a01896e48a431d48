from __future__ import annotations

from typing import Any

import pytest

from steersman.apimachinery import field
from steersman.apimachinery.errors import StatusError
from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.generic.writing import (
    dedupe_owner_references,
    ensure_object_name,
    ensure_object_namespace,
    prepare_create,
    resource_version_of,
    time_text,
    validate_create,
    wipe_system_fields,
)
from steersman.apiserver.kinds.core.pod.strategy import PodStrategy
from steersman.apiserver.request import RequestContext, UserInfo
from steersman.asynckit.clock import FakeClock


def test_times_are_whole_seconds_in_utc():
    now = FakeClock().now()
    assert time_text(now) == time_text(now) == "2026-01-01T00:00:00Z"
    assert time_text(now.replace(year=987, second=9)) == "0987-01-01T00:00:09Z"
    assert time_text(now) == "2026-01-01T00:00:00Z"


def test_only_system_fields_are_reset():
    metadata = {"name": "a", "uid": "u", "selfLink": "/x", "labels": {}}
    wipe_system_fields(metadata)
    assert metadata == {"name": "a", "labels": {}}


@pytest.mark.parametrize(
    ("text", "namespace", "left"),
    [(None, "n", "n"), ("", "n", "n"), ("n", "n", "n"), ("other", "", None), (None, "", None)],
)
def test_object_namespace_is_set_to_that_of_the_path(text, namespace, left):
    metadata = {} if text is None else {"namespace": text}
    ensure_object_namespace(metadata, namespace)
    assert metadata.get("namespace") == left


def test_another_namespace_or_name_is_400():
    for fit, metadata in (
        (ensure_object_namespace, {"namespace": "other"}),
        (ensure_object_name, {"name": "other"}),
        (ensure_object_name, {}),
    ):
        with pytest.raises(StatusError) as caught:
            fit(metadata, "n")
        assert caught.value.code == 400


@pytest.mark.parametrize(("text", "version"), [(None, 0), ("", 0), ("0", 0), ("17", 17)])
def test_resource_version_must_be_a_number(text, version):
    assert resource_version_of({"resourceVersion": text}) == version


def test_owner_references_that_differ_are_kept():
    first = {"uid": "u", "name": "a"}
    metadata = {"ownerReferences": [first, {**first, "controller": True}]}
    warnings: list[str] = []
    dedupe_owner_references(metadata, warnings.append)
    assert (len(metadata["ownerReferences"]), warnings) == (2, [])


def test_owner_reference_warning_after_admission_differs():
    owner = {"uid": "u", "name": "a"}
    warnings: list[str] = []
    dedupe_owner_references({"ownerReferences": [owner, owner, owner]}, warnings.append, after_admission=True)
    assert warnings == [
        (
            ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner"
            " references in 1.20+, and may reject such requests as early as 1.24; duplicate UID(s) observed: u"
        )
    ]


def before_create(strategy: Strategy, ctx: RequestContext, tree: dict[str, Any]) -> None:
    prepare_create(strategy, ctx, tree)
    validate_create(strategy, ctx, tree, group_kind="Thing", namespaced=True)


@pytest.mark.parametrize(("need_domains", "count"), [(True, 1), (False, 0)])
def test_finalizers_require_a_domain_for_some_kinds(need_domains, count):
    class Kind(Strategy):
        finalizers_need_domains = need_domains

    tree = {"metadata": {"name": "a", "namespace": "n", "finalizers": ["hold"]}}
    ctx = RequestContext(UserInfo("a"), FakeClock().now(), namespace="n")
    if count:
        with pytest.raises(StatusError) as caught:
            before_create(Kind(), ctx, tree)
        assert len(caught.value.status["details"]["causes"]) == count
    else:
        before_create(Kind(), ctx, tree)


def test_update_hooks_by_subresource():
    pods = PodStrategy()
    hooks = pods.update_hooks()
    assert set(hooks) == {"", "scale", "status", "ephemeralcontainers", "resize"}
    assert hooks[""].prepare == pods.prepare_for_update
    assert {name: hooks[name].warnings for name in ("", "status", "resize")} == {
        "": pods.warnings,
        "status": pods.status_warnings,
        "resize": None,
    }
    assert {name: hooks[name].bumps_generation for name in ("", "status", "resize")} == {
        "": True,
        "status": False,
        "resize": True,
    }


@pytest.mark.parametrize(
    ("last", "own", "fields"),
    [
        (False, True, ["metadata.labels", "spec"]),
        (True, True, ["spec"]),
        (True, False, ["metadata.labels"]),
    ],
)
def test_metadata_of_a_new_object_is_checked_last_for_some_kinds(last, own, fields):
    class Kind(Strategy):
        checks_metadata_last = last

        def validate(self, ctx, obj):
            return [field.required("spec")] if own else []

    ctx = RequestContext(UserInfo("a"), FakeClock().now(), namespace="n")
    with pytest.raises(StatusError) as caught:
        before_create(Kind(), ctx, {"metadata": {"name": "a", "namespace": "n", "labels": {"B!": ""}}})
    assert [cause["field"] for cause in caught.value.status["details"]["causes"]] == fields
