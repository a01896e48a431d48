"""Match conditions of authorization webhooks."""

import pytest

from steersman.apimachinery.selectors import parse_label_selector
from steersman.apiserver.authz.access_review import review_spec
from steersman.apiserver.authz.match_conditions import MatchConditions
from steersman.apiserver.request import RequestInfo, UserInfo
from steersman.cel.admission import ExpressionError

PODS = RequestInfo(
    "list",
    "/p",
    True,
    "",
    "v1",
    "ns",
    "pods",
    fields=(("spec.nodeName", "n", True),),
    labels=tuple(parse_label_selector("app=web").requirements),
)
ALICE = UserInfo("alice", ("devs",))
PATH = RequestInfo("get", "/metrics")


def evaluate(*expressions, info=PODS):
    return MatchConditions(expressions).evaluate(review_spec(ALICE, info))


@pytest.mark.parametrize(
    "expression",
    [
        "request.user == 'alice' && 'devs' in request.groups && request.uid == ''",
        "has(request.resourceAttributes) && request.resourceAttributes.namespace == 'ns'",
        "!has(request.nonResourceAttributes)",
        "request.resourceAttributes.subresource == '' && request.extra.size() == 0",
        "request.resourceAttributes.?fieldSelector.requirements.orValue([]).exists(r, r.key == 'spec.nodeName')",
        "request.resourceAttributes.labelSelector.requirements[0].values == ['web']",
    ],
)
def test_conditions_read_the_request(expression):
    assert evaluate(expression) == (True, "")


def test_conditions_hold_if_all_hold():
    assert evaluate("true", "request.user == 'bob'") == (False, "")


def test_errors_are_joined_unless_another_condition_is_false():
    fails = "request.nonResourceAttributes.path == '/'"
    error = f"cel evaluation error: expression '{fails}' resulted in error: no such key: nonResourceAttributes"
    assert evaluate(fails) == (False, error)
    assert evaluate(fails, "false") == (False, "")
    assert evaluate(fails, info=PATH) == (False, "")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("request.user", "must evaluate to bool but got string"),
        ("request.name == ''", "compilation failed: .*undefined field 'name'"),
        ("object == null", "compilation failed: .*undeclared reference"),
    ],
)
def test_invalid_expression_does_not_compile(expression, message):
    with pytest.raises(ExpressionError, match=f"(?s){message}"):
        MatchConditions([expression])
