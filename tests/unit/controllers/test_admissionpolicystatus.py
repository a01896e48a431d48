import msgspec
import pytest
from lightkube.models.admissionregistration_v1 import ValidatingAdmissionPolicy

from steersman.apimachinery.errors import is_invalid
from steersman.client.errors import ApiError
from steersman.controllers.admissionpolicystatus.controller import build
from steersman.controllers.admissionpolicystatus.plan import Matched, checked, is_checked, matched, schema_of

KIND = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")


@pytest.mark.parametrize(("generation", "observed", "expected"), [(1, None, False), (2, 1, False), (2, 2, True)])
def test_is_checked_by_generation(generation, observed, expected):
    body = {"metadata": {"name": "p", "generation": generation}, "status": {"observedGeneration": observed}}
    assert is_checked(msgspec.convert(body, ValidatingAdmissionPolicy)) is expected


def test_checked_has_warnings_if_any():
    policy = msgspec.convert({"metadata": {"name": "p", "generation": 2}}, ValidatingAdmissionPolicy)
    assert checked(policy)["status"] == {"observedGeneration": 2, "typeChecking": {}}
    warning = {"fieldRef": "spec", "warning": "w"}
    assert checked(policy, [warning])["status"]["typeChecking"] == {"expressionWarnings": [warning]}


async def test_status_follows_the_generation(cluster):
    await cluster.start(build)
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "true"}]}
    created = await cluster.make(*KIND, "p", spec=spec)
    observed = lambda expected: lambda obj: obj.get("status", {}).get("observedGeneration") == expected  # noqa: E731
    seen = await cluster.eventually(*KIND, "p", observed(created["metadata"]["generation"]))
    spec["validations"] = [{"expression": "false"}]
    await cluster.client.update({**seen, "spec": spec})
    await cluster.eventually(*KIND, "p", observed(created["metadata"]["generation"] + 1))


def rule(groups, versions, resources):
    return {"apiGroups": groups, "apiVersions": versions, "resources": resources, "operations": ["CREATE"]}


def test_matched_skips_wildcards_and_subresources():
    rules = [
        rule(["apps"], ["v1"], ["deployments", "replicasets/scale", "statefulsets"]),
        rule([""], ["v1"], ["pods", "*/status"]),
        rule(["*"], ["v1"], ["x"]),
        rule(["a"], ["*"], ["x"]),
    ]
    assert matched({"matchConstraints": {"resourceRules": rules}}) == [
        [Matched("apps", "v1", "deployments"), Matched("apps", "v1", "statefulsets")],
        [Matched("", "v1", "pods")],
    ]
    assert matched({}) == []


CUSTOM = {"group": "g", "version": "v1", "kind": "K"}


def test_schema_of_replaces_references():
    port = {"format": "int-or-string"}
    document = {
        "components": {
            "schemas": {
                "g.v1.K": {
                    "properties": {
                        "metadata": {"description": "d", "allOf": [{"$ref": "#/components/schemas/Meta"}]},
                        "ports": {"type": "array", "items": port},
                        "map": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/g.v1.K"}},
                    },
                    "x-kubernetes-group-version-kind": [CUSTOM],
                },
                "Meta": {"type": "object", "properties": {"name": {"type": "string"}}},
            }
        }
    }
    assert schema_of(document, **CUSTOM)["properties"] == {
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "ports": {"type": "array", "items": {**port, "x-kubernetes-int-or-string": True}},
        "map": {"type": "object", "additionalProperties": {"type": "object"}},
    }
    assert schema_of(document, "g", "v2", "K") is None


def test_schema_of_finds_none_when_a_reference_is_missing():
    schema = {"items": {"$ref": "#/components/schemas/None"}, "x-kubernetes-group-version-kind": [CUSTOM]}
    assert schema_of({"components": {"schemas": {"g.v1.K": schema}}}, **CUSTOM) is None


def policy_spec(groups, versions, resources, *expressions):
    validations = [{"expression": expression} for expression in expressions]
    return {"matchConstraints": {"resourceRules": [rule(groups, versions, resources)]}, "validations": validations}


async def warnings_of(cluster, spec):
    await cluster.make(*KIND, "p", spec=spec)
    obj = await cluster.eventually(*KIND, "p", lambda obj: "typeChecking" in obj.get("status", {}))
    return obj["status"]["typeChecking"].get("expressionWarnings", [])


async def test_warnings_for_a_built_in_kind(cluster):
    await cluster.start(build)
    spec = policy_spec(["apps"], ["v1"], ["deployments"], "object.spec.replicas < 5", "object.spec.replicsa < 5")
    warnings = await warnings_of(cluster, spec)
    assert [warning["fieldRef"] for warning in warnings] == ["spec.validations[1].expression"]
    assert warnings[0]["warning"].startswith(
        "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicsa'"
    )


async def test_warnings_for_a_custom_kind(cluster):
    properties = {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    names = {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"}
    definition = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    kind = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    await cluster.make(*kind, "toys.example.com", spec=definition)
    await cluster.clock.advance(2)
    await cluster.start(build)
    spec = policy_spec(
        ["example.com"],
        ["v1"],
        ["toys"],
        "object.spec.size < 5",
        "object.spec.size == 'big'",
        "'a' in object.metadata.labels",
    )
    warnings = await warnings_of(cluster, spec)
    assert [warning["fieldRef"] for warning in warnings] == ["spec.validations[1].expression"]


async def test_warnings_are_empty_for_unknown_types(cluster):
    await cluster.start(build)
    spec = policy_spec(["nobody.example.com"], ["v1"], ["things"], "object.what.ever == 1")
    assert await warnings_of(cluster, spec) == []


async def test_warnings_of_expressions_with_params_of_unknown_kind(cluster):
    await cluster.start(build)
    spec = policy_spec(["apps"], ["v1"], ["deployments"], "object.spec.replicas < 5", "params.most > 1")
    spec["paramKind"] = {"apiVersion": "nobody.example.com/v1", "kind": "Limit"}
    (warning,) = await warnings_of(cluster, spec)
    assert warning["fieldRef"] == "spec.validations[1].expression"
    assert warning["warning"].startswith(
        "apps/v1, Kind=Deployment: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')"
    )


async def test_warnings_for_empty_group_cover_the_resource_in_any_group(cluster):
    await cluster.start(build)
    (warning,) = await warnings_of(cluster, policy_spec([""], ["v1"], ["events"], "object.nothing == 1"))
    kinds = [line.partition(": ")[0] for line in warning["warning"].splitlines() if "Kind=" in line]
    assert kinds == ["/v1, Kind=Event", "events.k8s.io/v1, Kind=Event"]


async def test_warnings_cover_ten_kinds_of_the_first_rule_that_has_so_many(cluster):
    await cluster.start(build)
    spec = policy_spec(["apps"], ["v1"], ["deployments"], "object.nothing == 1")
    names = ["bindings", "configmaps", "endpoints", "limitranges", "namespaces", "nodes", "pods", "secrets", "services"]
    many = rule([""], ["v1"], [*names, "persistentvolumes", "serviceaccounts"])
    spec["matchConstraints"]["resourceRules"] += [many, rule(["batch"], ["v1"], ["jobs"])]
    (warning,) = await warnings_of(cluster, spec)
    kinds = [line.partition(": ")[0] for line in warning["warning"].splitlines() if "Kind=" in line]
    assert len(kinds) == 11
    assert kinds[-1] == "apps/v1, Kind=Deployment"
    assert "/v1, Kind=Service" not in kinds


async def test_warnings_are_not_written_to_a_recreated_policy(cluster):
    spec = policy_spec([""], ["v1"], ["pods"], "true")
    old = msgspec.convert(await cluster.make(*KIND, "p", spec=spec), ValidatingAdmissionPolicy)
    await cluster.client.delete_object(old)
    await cluster.make(*KIND, "p", spec=spec)
    with pytest.raises(ApiError) as raised:
        await cluster.client.apply(checked(old), field_manager="test", force=True, subresource="status")
    assert is_invalid(raised.value)
