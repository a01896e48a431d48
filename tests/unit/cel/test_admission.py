from __future__ import annotations

import pytest

from steersman.cel import admission, devices
from steersman.cel.admission import Compiler, ExpressionError


def compile_message(expression, purpose=admission.CONDITION, *, params=False, composed=False, authorizer=True):
    with pytest.raises(ExpressionError) as raised:
        Compiler(params=params, composed=composed).compile(expression, purpose, authorizer=authorizer)
    return str(raised.value).partition("\n")[0].removeprefix("compilation failed: ERROR: <input>:")


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.name == request.name && request.userInfo.groups.exists(g, g == 'x')",
        "authorizer.requestResource.check('get').allowed()",
        "namespaceObject.metadata.labels['a'] == 'b'",
        "oldObject == null || oldObject.spec == object.spec",
    ],
)
def test_compiler_accepts_policy_variables(expression):
    assert str(Compiler(params=False, composed=False).compile(expression, admission.CONDITION).type) == "bool"


def test_compiler_reports_errors_of_policy_expressions():
    assert compile_message("1 + 1") == "must evaluate to bool but got int"
    assert compile_message("object.x") == "must evaluate to bool but got dyn"
    assert compile_message("1", admission.AUDIT_ANNOTATION) == "must evaluate to one of [string null_type] but got int"
    assert compile_message("{}", admission.APPLY_CONFIGURATION) == "must evaluate to Object but got map(dyn, dyn)"
    assert compile_message("[1]", admission.JSON_PATCH) == "must evaluate to list(JSONPatch) but got list(int)"
    assert compile_message("params.x == 1") == "1:1: undeclared reference to 'params' (in container '')"
    assert (
        compile_message("authorizer.path('/')", authorizer=False)
        == "1:1: undeclared reference to 'authorizer' (in container '')"
    )
    assert compile_message("variables.x == 1") == "1:1: undeclared reference to 'variables' (in container '')"
    assert compile_message("variables.x == 1", composed=True) == "1:10: undefined field 'x'"
    assert compile_message("request.x == 1") == "1:8: undefined field 'x'"


def test_compiler_types_variables_by_their_expressions():
    compiler = Compiler(params=True, composed=True)
    compiler.add_variable("a", "[1, 2]")
    compiler.add_variable("b", "variables.a.map(x, quantity(string(x)))")
    assert str(compiler.compile("variables.a[0] == 1", admission.CONDITION).type) == "bool"
    assert str(compiler.compile("variables.b", admission.VARIABLE).type) == "list(dyn)"
    with pytest.raises(ExpressionError):
        compiler.add_variable("c", "nope")
    assert str(compiler.compile("variables.c == 1", admission.CONDITION).type) == "bool"


def test_compile_selector_checks_the_device_variable():
    ok = "cel.bind(d, device.attributes['x.example.com'], d.model == 'a') && device.capacity['x'].mem.isLessThan(quantity('1'))"
    assert str(devices.compile_selector(ok).type) == "bool"
    assert str(devices.compile_selector("device.attributes['x'].y").type) == "google.protobuf.Any"
    with pytest.raises(devices.SelectorError, match="must evaluate to bool or the unknown type, not int"):
        devices.compile_selector("1")
    with pytest.raises(devices.SelectorError, match="undefined field 'x'"):
        devices.compile_selector("device.x")


def test_cel_bind_variable_is_available_in_its_body():
    program = devices.compile_selector("cel.bind(x, 2, x + x == 4) && device.driver == 'd'")
    assert program.evaluate({"device": {"driver": "d"}}).value is True
