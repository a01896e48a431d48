"""What is known of a request."""

from datetime import UTC, datetime

from steersman.apiserver.request import RequestContext, UserInfo


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
