from __future__ import annotations

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.admissionregistration.shared.cel_expressions import (
    PolicyExpressions,
    check_match_condition,
)

HERE = Path("here")


def texts(errors):
    return [str(error).partition("\n")[0] for error in errors]


def test_policy_expressions_can_use_preceding_variables():
    expressions = PolicyExpressions({"variables": [{}]})
    assert texts(expressions.variable("a", "1", HERE)) == []
    assert texts(expressions.condition("variables.a == 1", HERE)) == []
    assert texts(expressions.message("string(variables.a)", HERE)) == []
    error_texts = "compilation failed: ERROR: <input>:1:10: undefined field 'b'"
    assert texts(expressions.condition("variables.b", HERE)) == [f'here: Invalid value: "variables.b": {error_texts}']


def test_policy_expressions_reject_results_of_wrong_type():
    expressions = PolicyExpressions({"paramKind": {}})
    wrong = 'here: Invalid value: "1": must evaluate to'
    assert texts(expressions.condition("params.x == 1", HERE)) == []
    assert texts(expressions.message("1", HERE)) == [f"{wrong} string but got int"]
    assert texts(expressions.audit_annotation("1", HERE)) == [f"{wrong} one of [string null_type] but got int"]
    assert texts(expressions.mutation("1", HERE, patch_type="ApplyConfiguration")) == [f"{wrong} Object but got int"]
    assert texts(expressions.mutation("1", HERE, patch_type="JSONPatch")) == [f"{wrong} list(JSONPatch) but got int"]


def test_check_match_condition_declares_params_only_if_policy_has_them():
    assert texts(check_match_condition(" params.x == 1 ", HERE, has_params=True)) == []
    error_texts = "compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')"
    assert texts(check_match_condition(" params.x == 1", HERE, has_params=False)) == [
        f'here: Invalid value: "params.x == 1": {error_texts}'
    ]


def test_policy_expressions_report_instantiation_errors_as_internal():
    fault = "Internal error: program instantiation failed: error parsing regexp: missing closing ]: `[`"
    expressions = PolicyExpressions({})
    assert texts(expressions.condition("object.a.find('[') == ''", HERE)) == [f"here: {fault}"]
    assert texts(expressions.variable("a", "object.a.find('[')", HERE)) == [f"here: {fault}"]
