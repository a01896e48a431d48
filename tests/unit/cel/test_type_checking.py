from __future__ import annotations

from steersman.cel.builtin_types import declare_struct
from steersman.cel.type_checking import expression_warnings
from steersman.schema.loader import struct_for

KINDS = [
    ("apps/v1, Kind=Deployment", declare_struct(struct_for("apps", "v1", "Deployment"))),
    ("/v1, Kind=Pod", declare_struct(struct_for("", "v1", "Pod"))),
]


def warnings(*expressions, params=None, **spec):
    spec["validations"] = [{"expression": text} for text in expressions]
    return expression_warnings(spec, KINDS, params)


def test_expression_warnings_empty_when_valid_for_all_kinds():
    assert warnings("object.metadata.name == 'a' && object.metadata.labels['x'] == 'y'", "oldObject == null") == []


def test_expression_warnings_name_the_kind():
    message = "ERROR: <input>:1:12: undefined field 'replicas'\n | object.spec.replicas > 1\n | ...........^"
    assert warnings("true", "object.spec.replicas > 1") == [
        {"fieldRef": "spec.validations[1].expression", "warning": f"/v1, Kind=Pod: {message}\n"}
    ]


def test_expression_warnings_check_variables_and_params():
    variables = [{"name": "n", "expression": "object.metadata.name"}]
    config = declare_struct(struct_for("", "v1", "ConfigMap"))
    assert warnings("variables.n == params.data['x']", variables=variables, params=config) == []
    (result,) = warnings("variables.n == params.data.size()", variables=variables, params=config)
    assert "found no matching overload for '_==_' applied to '(string, int)'" in result["warning"]


def test_expression_warnings_know_no_fields_of_a_type_within_itself():
    definition = declare_struct(struct_for("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))

    def warnings_of(expression):
        return expression_warnings({"validations": [{"expression": expression}]}, [("", definition)], None)

    assert (
        warnings_of(
            "object.spec.versions.all(v, v.schema.openAPIV3Schema.properties.x == v.schema.openAPIV3Schema.properties.y)"
        )
        == []
    )
    (result,) = warnings_of("object.spec.versions.all(v, v.schema.openAPIV3Schema.properties.x.type == 'z')")
    assert "undefined field 'type'" in result["warning"]


def test_expression_warnings_know_no_quantities():
    pod = [("/v1, Kind=Pod", declare_struct(struct_for("", "v1", "Pod")))]
    validations = [
        {"expression": "object.spec.containers.all(c, c.resources.limits.cpu == '1')"},
        {"expression": "object.spec.volumes.all(v, v.emptyDir.sizeLimit == '1')"},
    ]
    limits, size_limit = expression_warnings({"validations": validations}, pod, None)
    assert "undefined field 'limits'" in limits["warning"]
    assert "undefined field 'sizeLimit'" in size_limit["warning"]
