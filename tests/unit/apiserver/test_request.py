"""Request attributes, warnings and audit annotations."""

from datetime import UTC, datetime

import pytest

from steersman.apiserver.request import (
    Annotations,
    AuditLevel,
    RequestContext,
    RequestInfo,
    UserInfo,
    WarningRecorder,
    bounded_warnings,
)
from steersman.apiserver.spec_facts import SpecFacts, SpecFactsCache


def test_warnings_are_unique_and_ordered():
    context = RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC))
    for text in ("b", "a", "b"):
        context.warn(text)
    assert context.warnings.texts == ["b", "a"]


def test_contexts_do_not_share_warnings():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    first, second = RequestContext(UserInfo("a"), now), RequestContext(UserInfo("a"), now)
    first.warn("x")
    assert second.warnings.texts == []


def test_annotations_keep_first_value(caplog):
    notes = Annotations()
    notes.add("a", "1")
    notes.add("a", "1")
    assert not caplog.records
    notes.add("a", "2")
    assert notes.values == {"a": "1"}
    assert "not '2'" in caplog.text


def test_annotate_skips_values_of_higher_level():
    notes = Annotations()
    notes.level = AuditLevel.METADATA
    context = RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC), annotations=notes)
    context.annotate("patch", "[]", level=AuditLevel.REQUEST)
    context.annotate("plain", "yes")
    assert notes.values == {"plain": "yes"}


def test_annotate_does_nothing_without_audit():
    RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC)).annotate("a", "b")


INFO = RequestInfo("list", "/api/v1/namespaces/n/pods", True, "", "v1", "n", "pods", parts=("a",))


def test_request_info_compares_by_value():
    same = RequestInfo("list", "/api/v1/namespaces/n/pods", True, "", "v1", "n", "pods", parts=("a",))
    assert same == INFO
    assert hash(INFO) == hash(same)
    assert INFO != "list"


@pytest.mark.parametrize("change", [{"verb": "watch"}, {"name": "a"}, {"fields": (("metadata.name", "a", True),)}])
def test_changed_returns_copy_with_other_values(change):
    before = repr(INFO)
    new = INFO.changed(**change)
    assert new != INFO
    assert [getattr(new, part) for part in change] == list(change.values())
    assert repr(INFO) == before
    assert new.changed(**{part: getattr(INFO, part) for part in change}) == INFO


def test_request_info_has_repr():
    assert repr(INFO.changed(name="x")) == (
        "RequestInfo('list', '/api/v1/namespaces/n/pods', True, '', 'v1', 'n', 'pods', 'x', '', ('a',), (), ())"
    )


def test_user_info_compares_by_value():
    user = UserInfo("a", ("g",), "u", {"k": ("v",)})
    assert user == UserInfo("a", ("g",), "u", {"k": ("v",)})
    assert user != UserInfo("a", ("g",), "u")
    assert user != "a"
    assert repr(user) == "UserInfo('a', ('g',), 'u', {'k': ('v',)})"
    with pytest.raises(TypeError, match="unhashable"):
        hash(user)


def test_changed_context_shares_warnings():
    facts = {
        "user": UserInfo("a"),
        "now": datetime(2026, 1, 1, tzinfo=UTC),
        "namespace": "n",
        "path_name": "p",
        "version": "v1",
        "verb": "create",
        "subresource": "s",
        "dry_run": False,
        "field_manager": "m",
        "audit_id": "i",
        "warnings": WarningRecorder(),
        "group_resource": "pods",
        "annotations": Annotations(),
    }
    changes = {"namespace": "", "group_resource": "namespaces", "dry_run": True}
    ctx = RequestContext(**facts)
    for new, expected in ((ctx.changed(), facts), (ctx.changed(**changes), {**facts, **changes})):
        assert {part: getattr(new, part) for part in facts} == expected
        assert new.warnings is ctx.warnings


def test_facts_for_uses_cache_in_changed_context():
    cache, spec = SpecFactsCache(), {"containers": []}
    cache.facts_for(spec)
    ctx = RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC), spec_cache=cache)
    assert ctx.facts_for(spec) is cache.facts_for(spec) is ctx.changed().facts_for(spec)
    assert ctx.facts_of_new(spec) is ctx.facts_for(spec)
    ctx.spec_facts = SpecFacts()
    assert ctx.facts_of_new(spec) is ctx.spec_facts


def test_facts_for_returns_new_facts_for_first_object_of_a_spec():
    cache, spec = SpecFactsCache(), {"containers": []}
    cache.facts_for(spec)
    ctx = RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC), spec_cache=cache)
    ctx.is_first_of_spec = True
    facts = ctx.facts_for(spec)
    assert ctx.facts_for(spec) is not facts
    assert cache.facts_for(spec) is not facts


def test_facts_for_returns_new_facts_without_cache():
    ctx = RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC))
    assert ctx.facts_for({}) is not ctx.facts_for({})


def test_warning_recorder_keeps_texts_whole_up_to_4096_characters():
    recorder = WarningRecorder()
    recorder.add_all(f"{number:04}" * 256 for number in range(4))
    assert [len(text) for text in recorder.texts] == [1024] * 4
    assert not recorder.is_full


def test_warning_recorder_cuts_every_text_when_all_are_too_long():
    recorder = WarningRecorder()
    recorder.add_all(f"{number:04}" * 256 for number in range(5))
    assert [len(text) for text in recorder.texts] == [256] * 5


def test_warning_recorder_drops_warnings_when_cut_texts_are_too_long():
    recorder = WarningRecorder()
    for number in range(100):
        recorder.add(f"{number:04}" * 256)
    assert recorder.is_full
    assert [text[:4] for text in recorder.texts] == [f"{number:04}" for number in range(16)]


def test_warning_recorder_ignores_empty_texts():
    recorder = WarningRecorder()
    recorder.add("")
    assert len(recorder) == 0


def test_bounded_warnings_stops_computing_texts_when_full():
    computed = []

    def texts():
        for number in range(1_000_000):
            computed.append(number)
            yield f"{number:04}" * 256

    assert len(bounded_warnings(texts())) == 16
    assert len(computed) == 16
