"""Webhook authorizer: decisions, cache, failures, match conditions."""

import pytest

from steersman.apiserver.authz import webhook as module
from steersman.apiserver.authz.access_review import ReviewStatus
from steersman.apiserver.authz.interface import NO_OPINION, Decision, Rules, Verdict
from steersman.apiserver.authz.match_conditions import MatchConditions
from steersman.apiserver.authz.modes import AlwaysAllow, AlwaysDeny, Chain
from steersman.apiserver.authz.pending import PendingDecisionError, with_decisions
from steersman.apiserver.authz.webhook import ReviewCallError, WebhookAuthorizer
from steersman.apiserver.authz.webhook_metrics import AuthorizationWebhookMetrics
from steersman.apiserver.request import RequestInfo, UserInfo
from steersman.asynckit.clock import FakeClock

ALICE = UserInfo("alice", ("devs",))
PODS = RequestInfo("list", "/api/v1/pods", True, "", "v1", resource="pods")


class Webhook:
    """Scripted client; an exception is raised."""

    def __init__(self, *answers, conditions=(), **options):
        self.answers = list(answers)
        self.bodies = []
        self.clock = FakeClock()
        self.metrics = AuthorizationWebhookMetrics()
        settings = {
            "version": "v1",
            "authorized_seconds": 300.0,
            "unauthorized_seconds": 30.0,
            "denies_on_error": False,
            "conditions": MatchConditions(conditions) if conditions else None,
        }
        self.authorizer = WebhookAuthorizer(
            "hook", self, metrics=self.metrics, clock=self.clock, **(settings | options)
        )

    async def __call__(self, body, read):
        self.bodies.append(body)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def decide(self, user=ALICE, info=PODS):
        return await with_decisions(self.authorizer.authorize, user, info)


@pytest.mark.parametrize(
    ("status", "decision"),
    [
        (ReviewStatus(True, reason="fine"), Decision(Verdict.ALLOW, "fine")),
        (ReviewStatus(reason="who?"), Decision(Verdict.NO_OPINION, "who?")),
        (ReviewStatus(False, True, "no"), Decision(Verdict.DENY, "no")),
        (
            ReviewStatus(True, True, "both"),
            Decision(Verdict.DENY, "both", "webhook subject access review returned both allow and deny response"),
        ),
    ],
)
async def test_webhook_decides(status, decision):
    assert await Webhook(status).decide() == decision


async def test_decision_that_is_not_known_is_pending():
    with pytest.raises(PendingDecisionError):
        Webhook().authorizer.authorize(ALICE, PODS)


@pytest.mark.parametrize(("status", "seconds"), [(ReviewStatus(True), 300.0), (ReviewStatus(), 30.0)])
async def test_answers_are_cached_for_their_time(status, seconds):
    webhook = Webhook(status, status)
    await webhook.decide()
    await webhook.clock.advance(seconds - 1)
    await webhook.decide()
    assert len(webhook.bodies) == 1
    await webhook.clock.advance(1)
    await webhook.decide()
    assert len(webhook.bodies) == 2


async def test_answers_are_cached_by_user_and_request():
    webhook = Webhook(ReviewStatus(True), ReviewStatus(), ReviewStatus())
    assert (await webhook.decide()).allowed
    assert not (await webhook.decide(UserInfo("alice", ("others",)))).allowed
    assert not (await webhook.decide(info=PODS.changed(verb="watch"))).allowed


async def test_answers_without_time_in_the_cache_are_not_cached():
    webhook = Webhook(ReviewStatus(True), ReviewStatus(True), authorized_seconds=0.0)
    await webhook.decide()
    await webhook.decide()
    assert len(webhook.bodies) == 2


@pytest.mark.parametrize(("length", "calls"), [(9_900, 1), (10_000, 2)])
async def test_answers_about_long_attributes_are_not_cached(length, calls):
    webhook = Webhook(ReviewStatus(True), ReviewStatus(True))
    info = PODS.changed(name="x" * length)
    await webhook.decide(info=info)
    await webhook.decide(info=info)
    assert len(webhook.bodies) == calls


@pytest.mark.parametrize("result", ["error", "timeout"])
async def test_failed_webhook_has_no_opinion_but_an_error(result):
    webhook = Webhook(ReviewCallError("gone", result=result), ReviewStatus(True))
    assert await webhook.decide() == Decision(Verdict.NO_OPINION, error="gone")
    assert webhook.metrics.fail_open == {("hook", result): 1}
    assert (await webhook.decide()).allowed  # failures are not cached


async def test_failed_webhook_denies_by_its_failure_policy():
    webhook = Webhook(ReviewCallError("gone"), denies_on_error=True)
    assert await webhook.decide() == Decision(Verdict.DENY, error="gone")
    assert not webhook.metrics.fail_open


async def test_denial_ends_the_chain_and_no_opinion_does_not():
    webhook = Webhook(ReviewStatus(denied=True), ReviewStatus())
    chain = Chain([webhook.authorizer, AlwaysAllow()])
    assert not (await with_decisions(chain.authorize, ALICE, PODS)).allowed
    assert (await with_decisions(chain.authorize, ALICE, PODS.changed(verb="get"))).allowed


async def test_chain_keeps_the_errors_of_authorizers_without_an_opinion():
    webhook = Webhook(ReviewCallError("gone"), ReviewCallError("gone"))
    chain = Chain([webhook.authorizer, AlwaysDeny()])
    decision = await with_decisions(chain.authorize, ALICE, PODS)
    assert decision == Decision(Verdict.NO_OPINION, "Everything is forbidden.", "gone")
    assert (await with_decisions(Chain([webhook.authorizer, AlwaysAllow()]).authorize, ALICE, PODS)).allowed


async def test_several_webhooks_are_asked_in_order():
    first, second = Webhook(ReviewStatus()), Webhook(ReviewStatus(True))
    chain = Chain([first.authorizer, second.authorizer])
    assert (await with_decisions(chain.authorize, ALICE, PODS)).allowed
    assert (len(first.bodies), len(second.bodies)) == (1, 1)


async def test_excluded_request_is_not_sent():
    webhook = Webhook(conditions=["request.user != 'alice'"])
    assert await webhook.decide() is NO_OPINION
    assert webhook.metrics.condition_exclusions == {("Webhook", "hook"): 1}
    assert webhook.metrics.condition_durations[("Webhook", "hook")].count == 1


@pytest.mark.parametrize(("denies", "verdict"), [(False, Verdict.NO_OPINION), (True, Verdict.DENY)])
async def test_error_in_a_condition_is_decided_by_the_failure_policy(denies, verdict):
    webhook = Webhook(conditions=["request.nonResourceAttributes.path == '/'"], denies_on_error=denies)
    decision = await webhook.decide()
    assert (decision.verdict, decision.error.partition(":")[0]) == (verdict, "cel evaluation error")
    assert webhook.metrics.condition_errors == {("Webhook", "hook"): 1}


@pytest.mark.parametrize(("user", "allowed"), [("alice", True), ("bob", False)])
async def test_expensive_conditions_are_evaluated_in_a_worker(monkeypatch, user, allowed):
    monkeypatch.setattr(module, "LOOP_ALLOWANCE", 0)
    webhook = Webhook(ReviewStatus(True), conditions=["request.user == 'alice'"])
    assert (await webhook.decide(UserInfo(user))).allowed is allowed


def test_rules_are_incomplete():
    error = "webhook authorizer does not support user rule resolution"
    assert Webhook().authorizer.rules_for(ALICE, "ns") == Rules((), incomplete=True, error=error)
