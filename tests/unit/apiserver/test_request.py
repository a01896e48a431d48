"""What is known of a request."""

from datetime import UTC, datetime

from steersman.apiserver.request import Annotations, AuditLevel, RequestContext, UserInfo


def test_a_warning_is_told_once_and_in_order():
    context = RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC))
    for text in ("b", "a", "b"):
        context.warn(text)
    assert context.warnings == ["b", "a"]


def test_contexts_do_not_share_their_warnings():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    first, second = RequestContext(UserInfo("a"), now), RequestContext(UserInfo("a"), now)
    first.warn("x")
    assert second.warnings == []


def test_what_is_noted_first_stays(caplog):
    notes = Annotations()
    notes.add("a", "1")
    notes.add("a", "1")
    assert not caplog.records
    notes.add("a", "2")
    assert notes.values == {"a": "1"}
    assert "not '2'" in caplog.text


def test_what_needs_a_higher_level_is_not_noted():
    notes = Annotations()
    notes.level = AuditLevel.METADATA
    context = RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC), annotations=notes)
    context.annotate("patch", "[]", level=AuditLevel.REQUEST)
    context.annotate("plain", "yes")
    assert notes.values == {"plain": "yes"}


def test_without_an_audit_log_nothing_is_noted():
    RequestContext(UserInfo("a"), datetime(2026, 1, 1, tzinfo=UTC)).annotate("a", "b")
