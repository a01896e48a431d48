"""KWOK's stage files: queries, selectors, delays, weights, transitions, validation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from steersman.apimachinery.trees import Tree
from steersman.client.requests import PatchType
from steersman.nodes.kwok.jq import QueryError, QuerySyntaxError, compile_query
from steersman.nodes.kwok.stage_files import read_stage, read_stage_file
from steersman.nodes.node_object import TemplateError
from steersman.nodes.options import NodesOptions
from steersman.nodes.stages import Outcome, Stage, StageContext, choose

STAGES = Path(__file__).parent / "stages"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
AROUND = StageContext(NOW, "172.16.0.1", "10.1.0.7", "node-0", started=NOW)
OBJECT: Tree = {
    "a": {"b": [1, 2, {"c": "x"}], "k/e.y": "v"},
    "t": "text",
    "n": 5,
    "no": None,
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}],
}


# Queries


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (".", [OBJECT]),
        (".t", ["text"]),
        (".a.b[0], .a.b[-1].c", [1, "x"]),
        ('.a["k/e.y"], .a."k/e.y", ."t"', ["v", "v", "text"]),
        (".a.b[9], .x.y.z", [None, None]),
        (".a.b.[] | select(. == 2)", [2]),
        ('.conditions.[] | select( .type == "Ready" ) | .status', ["True"]),
        ('.conditions[] | select(.type != "Ready" and .status == "False") .type', ["Other"]),
        (".t[]?", []),
        (".no // .t", ["text"]),
        (".t | .[]? // 1", [1]),
        ("[.conditions[].type]", [["Ready", "Other"]]),
        ("[] | length", [0]),
        (".n > 4 and .n <= 5, .n < 1 or false", [True, False]),
        ('"a" > 1, null < false, [1] >= [1]', [True, True, True]),
        ("-1 + .n - 2, [1,2] - [2], .no + 1, {} + 1", None),
        (".conditions | map(.type) | first, last", ["Ready", ["x"]]),
        ('.conditions | any(.status == "True"), all(.status == "True")', [True, False]),
        ('.a | has("b"), keys', [True, ["b", "k/e.y"]]),
        ('.t | startswith("te"), endswith("xt"), contains("ex"), test("^t.x"), length, ascii_upcase', None),
        ('"5" | tonumber + 1', [6]),
        (".n | tostring, not", ["5", False]),
        ("first(.a.b[]), empty, null, true, 1.5", [1, None, True, 1.5]),
        ('"\\u0041\\n"', ["A\n"]),
    ],
)
def test_query_returns_values(query: str, values: list[Any] | None) -> None:
    texts = {
        "-1": "-1 + .n - 2, [1,2] - [2], .no + 1",
        ".conditions | map": '.conditions | map(.type) | first, ["x"]',
    }
    expected: dict[str, list[Any]] = {"-1": [2, [1], 1], ".t | st": [True, True, True, True, 4, "TEXT"]}
    requested = next((text for start, text in texts.items() if query.startswith(start)), query)
    target = next((item for start, item in expected.items() if query.startswith(start)), values)
    assert list(compile_query(requested)(OBJECT)) == target


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("", "query '': 'the end' is not expected"),
        (".a[", "query '.a[': 'the end' is not expected"),
        (".a)", "query '.a)': ')' is not expected"),
        ("(.a", "query '(.a': ')' is missing before 'the end'"),
        ("nosuch(.a)", "query 'nosuch(.a)': the function nosuch/1 is not known"),
        (".a & .b", "query '.a & .b': '& .b' is not understood"),
        ("(" * 60 + ".", f"query {'(' * 60 + '.'!r}: too deep"),
    ],
)
def test_malformed_query_is_rejected(query: str, fault: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        compile_query(query)
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    "query", [".t.x", ".n[]", ".t[0]", ".t | map(.)", '"x" | tonumber', "{a: 1}", ".t - 1", ".t + 1", ".n | keys"]
)
def test_query_rejects_values_of_the_wrong_type(query: str) -> None:
    with pytest.raises((QueryError, QuerySyntaxError)):
        list(compile_query(query)(OBJECT))


# Stages


def stage(**spec: Any) -> Stage:
    spec = {"resourceRef": {"kind": "Pod"}, "selector": {}, "next": {}, **spec}
    result = read_stage(
        {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": "s"}, "spec": spec}
    )
    assert result is not None
    return result.stage


def matching(key: str, operator: str, *values: str) -> Stage:
    return stage(selector={"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]})


def pod(**status: Any) -> Tree:
    return {
        "metadata": {"name": "p", "uid": "u", "labels": {"app": "a"}, "annotations": {"delay": "1m30s", "w": "7"}},
        "spec": {"nodeName": "node-0", "containers": [{"name": "c", "image": "i"}]},
        "status": status,
    }


@pytest.mark.parametrize(
    ("obj", "holds"),
    [
        (matching(".status.phase", "In", "Running", "Pending"), True),
        (matching(".status.phase", "NotIn", "Running"), False),
        (matching(".status.podIP", "DoesNotExist"), True),
        (matching(".status.no.[].x", "NotIn", "a"), True),
        (matching(".status.no.[].x", "In", "a"), False),
        (matching(".status.containerStatuses.[].ready", "In", "true"), True),
        (matching(".status.containerStatuses.[].restartCount", "In", "2"), True),
        (matching(".status.containerStatuses", "In", "2"), False),
        (matching(".metadata.labels", "Exists"), True),
        (stage(selector={"matchLabels": {"app": "a"}}), True),
        (stage(selector={"matchAnnotations": {"app": "a"}}), False),
        (stage(selector={"matchExpressions": [{"jq": {"key": ".status.phase", "operator": "Exists"}}]}), True),
        (stage(selector={"matchExpressions": [{"cel": {"expression": "self.status.phase == 'Running'"}}]}), True),
        (stage(selector={"matchExpressions": [{"cel": {"expression": "self.status.no == 'x'"}}]}), False),
    ],
)
def test_selector_matches_objects(obj: Stage, holds: bool) -> None:
    assert obj.matches(pod(phase="Running", containerStatuses=[{"ready": True, "restartCount": 2}]), NOW) is holds


def test_stage_without_selector_is_ignored() -> None:
    spec: Tree = {"resourceRef": {"kind": "Node"}, "next": {}}
    document = {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": "s"}, "spec": spec}
    assert read_stage(document) is None


@pytest.mark.parametrize(
    ("delay", "least", "most"),
    [
        ({}, 0.0, 0.0),
        ({"durationMilliseconds": 1500}, 1.5, 1.5),
        ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 3000}, 1.0, 3.0),
        ({"durationMilliseconds": 5000, "jitterDurationMilliseconds": 3000}, 3.0, 3.0),
        ({"durationFrom": {"expressionFrom": ".metadata.annotations.delay"}}, 90.0, 90.0),
        ({"durationFrom": {"jq": {"expression": ".metadata.annotations.delay"}}}, 90.0, 90.0),
        ({"durationFrom": {"expressionFrom": ".status.until"}}, 10.0, 10.0),
        ({"durationMilliseconds": 7000, "durationFrom": {"expressionFrom": ".status.phase"}}, 7.0, 7.0),
        ({"durationMilliseconds": 7000, "durationFrom": {"expressionFrom": ".status.no"}}, 7.0, 7.0),
        ({"durationFrom": {"cel": {"expression": "duration('1m')"}}}, 60.0, 60.0),
        ({"durationFrom": {"cel": {"expression": "timestamp(self.status.until)"}}}, 10.0, 10.0),
        ({"durationFrom": {"cel": {"expression": "self.metadata.annotations.delay"}}}, 90.0, 90.0),
        ({"durationMilliseconds": 7000, "durationFrom": {"cel": {"expression": "self.status.no"}}}, 7.0, 7.0),
        ({"jitterDurationFrom": {"expressionFrom": ".metadata.annotations.delay"}}, 0.0, 90.0),
    ],
)
def test_delay_of_a_stage(delay: Tree, least: float, most: float) -> None:
    until = (NOW + timedelta(seconds=10)).isoformat()
    new_stage = stage(delay=delay)
    length = new_stage.delay.length_seconds(pod(phase="Running", until=until), now=NOW, dice=Random(1))
    assert least <= length <= most


@pytest.mark.parametrize(
    ("spec", "weight"),
    [
        ({}, 0),
        ({"weight": 3}, 3),
        ({"weight": 3, "weightFrom": {"expressionFrom": ".metadata.annotations.w"}}, 7),
        ({"weight": 3, "weightFrom": {"expressionFrom": ".metadata.annotations.no"}}, 3),
        ({"weight": 3, "weightFrom": {"cel": {"expression": "int(self.metadata.annotations.w) + 1"}}}, 8),
        ({"weight": 3, "weightFrom": {"expressionFrom": ".metadata.annotations.delay"}}, None),
        ({"weight": 3, "weightFrom": {"expressionFrom": ".metadata.annotations"}}, None),
    ],
)
def test_weight_of_a_stage(spec: Tree, weight: int | None) -> None:
    assert stage(**spec).weight_for(pod()) == weight


def test_choose_prefers_weight_zero_to_invalid_weight() -> None:
    unknown = stage(weightFrom={"expressionFrom": ".metadata.annotations"})
    nothing = stage()
    assert {choose([unknown, nothing], pod(), now=NOW, dice=Random(n)) for n in range(9)} == {nothing}
    assert choose([unknown, unknown], pod(), now=NOW, dice=Random(1)) is unknown


def all_of(outcome: Outcome | None) -> list[Outcome]:
    return [] if outcome is None else [outcome._replace(then=None), *all_of(outcome.then)]


def test_next_actions_are_performed_in_order() -> None:
    new_stage = stage(
        next={
            "event": {"type": "Warning", "reason": "R", "message": "m"},
            "finalizers": {"add": [{"value": "a"}], "remove": [{"value": "r"}], "empty": True},
            "statusTemplate": "phase: {{ .status.phase }}ing",
            "patches": [
                {"root": "metadata", "type": "merge", "template": "labels: {x: {{ NodeName }}}"},
                {"root": "spec", "type": "json", "subresource": "sub", "template": "[{op: remove, path: /x}]"},
                {"type": "json", "template": "[{op: remove, path: /x}]"},
            ],
        }
    )
    assert all_of(new_stage.transition(pod(phase="Runn"), AROUND)) == [
        Outcome(event=("Warning", "R", "m")),
        Outcome(finalizers_added=("a",), finalizers_removed=("r",), finalizers_emptied=True),
        Outcome({"status": {"phase": "Running"}}),
        Outcome({"metadata": {"labels": {"x": "node-0"}}}, PatchType.MERGE, ""),
        Outcome([{"op": "remove", "path": "/spec/x"}], PatchType.JSON, "sub"),
        Outcome([{"op": "remove", "path": "/x"}], PatchType.JSON, ""),
    ]


def test_apply_step_renders_an_object_of_another_kind() -> None:
    template = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .metadata.name }}-cm, namespace: default}\n"
        "data: {count: {{ ceil (divf 5 2) | int | Quote }}}"
    )
    new_stage = stage(
        steps=[{"apply": {"template": template}}, {"patch": {"root": "metadata", "template": "labels: {}"}}]
    )
    first, second = all_of(new_stage.transition(pod(), AROUND))
    assert first.applied["metadata"] == {"name": f"{pod()['metadata']['name']}-cm", "namespace": "default"}
    assert first.applied["data"] == {"count": "3"}
    assert second == Outcome({"metadata": {"labels": {}}}, PatchType.STRATEGIC, "")


@pytest.mark.parametrize(
    ("resource_ref", "default"),
    [
        ({"kind": "Pod"}, PatchType.STRATEGIC),
        ({"kind": "Node"}, PatchType.STRATEGIC),
        ({"kind": "Service"}, PatchType.MERGE),
        ({"apiGroup": "resource.k8s.io/v1", "kind": "ResourceSlice"}, PatchType.MERGE),
        ({"apiGroup": "example.com/v1", "kind": "Pod"}, PatchType.MERGE),
    ],
)
def test_patch_without_type_is_strategic_only_for_pods_and_nodes(resource_ref: Tree, default: PatchType) -> None:
    patches = [{"template": "a: 1"}, {"template": "a: 1", "type": "strategic"}]
    new_stage = stage(resourceRef=resource_ref, next={"patches": patches})
    types = [item.patch_type for item in all_of(new_stage.transition(pod(), AROUND))]
    assert types == [default, PatchType.STRATEGIC]


def test_selector_takes_an_expression_in_cel() -> None:
    new_stage = stage(selector={"matchExpressions": [{"expression": "self.status.phase == 'Running'"}]})
    assert new_stage.matches(pod(phase="Running"), NOW)
    assert not new_stage.matches(pod(phase="Failed"), NOW)


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("a: {{ range NodeIPsWith .spec.nodeName }}{{ . }}{{ end }}", "172.16.0.1"),
        ('a: {{ range PodIPsWith "n" false "u" "p" "ns" }}{{ . }}{{ end }}', "10.1.0.7"),
        ('a: {{ range PodIPsWith "n" true "u" "p" "ns" }}{{ . }}{{ end }}', "172.16.0.1"),
        ("a: {{ randInt 5 6 }}", 5),
        ("a: {{ randNumeric 3 | len }}", 3),
        ("a: {{ uuidv4 | len }}", 36),
    ],
)
def test_template_functions_return_the_stage_context(template: str, result: Any) -> None:
    new_stage = stage(next={"statusTemplate": template})
    outcome = new_stage.transition(pod(), AROUND._replace(dice=Random(1)))
    assert all_of(outcome)[0].patch == {"status": {"a": result}}


def test_delete_omits_other_writes() -> None:
    new_stage = stage(next={"delete": True, "statusTemplate": "phase: x"})
    assert all_of(new_stage.transition(pod(), AROUND)) == [Outcome(delete=True)]


def test_steps_take_precedence_over_next_fields() -> None:
    new_stage = stage(
        steps=[{"patch": {"root": "status", "subresource": "status", "template": "a: 1"}}, {"delete": True}]
    )
    assert all_of(new_stage.transition(pod(), AROUND)) == [Outcome({"status": {"a": 1}}), Outcome(delete=True)]


def test_steps_after_a_deletion_only_send_events() -> None:
    event, patch = {"reason": "R"}, {"template": "a: 1"}
    new_stage = stage(
        steps=[
            {"delete": True, "patch": patch, "finalizers": {"empty": True}},
            {"event": event, "patch": patch},
            {"finalizers": {"add": [{"value": "a"}]}},
            {"delete": True},
        ]
    )
    assert all_of(new_stage.transition(pod(), AROUND)) == [
        Outcome(delete=True, finalizers_emptied=True),
        Outcome(event=("Normal", "R", "")),
    ]


def test_node_conditions_begin_with_ready() -> None:
    new_stage = stage(next={"statusTemplate": "types: [{{ range NodeConditions }}{{ .type }},{{ end }}]"})
    [outcome] = all_of(new_stage.transition(pod(), AROUND))
    types = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"]
    assert outcome.patch == {"status": {"types": types}}


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"steps": [{"delete": True}, {"patch": {"template": "{{ nosuch }}"}}]}, 'function "nosuch" not defined'),
        ({"resourceRef": {"kind": "Lease"}}, 'no matches for kind "Lease" in version "v1"'),
        ({"nexxt": {}}, "unknown field `nexxt`"),
        ({"weight": "a"}, "Expected `int`, got `str`"),
        ({"selector": {"matchExpressions": [{"key": ".a", "operator": "In"}]}}, "values set can't be empty"),
        (
            {"selector": {"matchExpressions": [{"key": ".a", "operator": "Exists", "values": ["x"]}]}},
            "values set must be empty for exists and does not exist",
        ),
        ({"selector": {"matchExpressions": [{"key": ".a", "operator": "Gt"}]}}, 'operator "Gt" is not supported'),
        ({"selector": {"matchExpressions": [{"key": ".a |", "operator": "Exists"}]}}, "the end"),
        ({"selector": {"matchExpressions": [{"cel": {"expression": "self."}}]}}, "expression 'self.'"),
        ({"next": {"statusTemplate": "{{ nosuch }}"}}, 'template: line 1: function "nosuch" not defined'),
        ({"next": {"patches": [{"type": "odd", "template": ""}]}}, 'unknown patch type "odd"'),
        ({"next": {"statusPatchAs": {"username": "u"}}}, "impersonation is not supported"),
        ({"next": {"patches": [{"template": "", "impersonation": {}}]}}, "impersonation is not supported"),
        ({"steps": [{"apply": {"template": "", "impersonation": {}}}]}, "impersonation is not supported"),
        ({"resourceRef": {"apiGroup": "apps", "kind": "X"}}, '"apps" is not of the form GROUP/VERSION'),
        ({"weightFrom": {"cel": {"expression": "1 +"}}}, "expression '1 +'"),
    ],
)
def test_invalid_stage_is_rejected(spec: Tree, fault: str) -> None:
    with pytest.raises(TemplateError) as caught:
        stage(**spec)
    assert fault in str(caught.value)


# Files


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: [", "document 1: yaml: "),
        (
            "kind: Stage\napiVersion: v1",
            "document 1: a Stage of kwok.x-k8s.io/v1alpha1 is expected, this is Stage of v1",
        ),
        ("- 1", "this is no object"),
        ("---\n---\n", "there is no Stage in it"),
        (
            "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: mine}\nspec: {resourceRef: {}}",
            "stage mine: Object missing required field `kind` - at `$.spec.resourceRef`",
        ),
    ],
)
def test_invalid_file_is_rejected_with_its_location(tmp_path: Path, text: str, fault: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(TemplateError) as caught:
        read_stage_file(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert fault in str(caught.value)


def test_files_and_sets_are_combined() -> None:
    file = STAGES / "pod-fast.yaml"
    options = NodesOptions(stages=f"default, {file}")
    names = [pod_stage.name for pod_stage in options.pod_stages()]
    assert names.count("pod-ready") == 1
    assert "pod-containers" in names
    assert options.node_stages() == ()
    assert [node_stage.name for node_stage in NodesOptions(stages=str(STAGES / "node.yaml")).node_stages()] == [
        "node-initialize",
        "node-heartbeat",
    ]
    with pytest.raises(TemplateError, match='--stages: "x" is neither a file nor one of default, never-end'):
        NodesOptions(stages="x").pod_stages()
    with pytest.raises(TemplateError, match="Is a directory"):
        NodesOptions(stages=str(STAGES)).pod_stages()


def stages_passed(file: str, obj: Tree, limit: int = 8) -> list[str]:
    """Return the stages that an object passes through; each status is merged into the previous one."""
    stages, passed = [of.stage for of in read_stage_file(STAGES / file).stages], []
    for _ in range(limit):
        result = choose(stages, obj, now=NOW, dice=Random(1))
        if result is None:
            break
        passed.append(result.name)
        for outcome in all_of(result.transition(obj, AROUND)):
            patch = (outcome.patch or {}).get("status", {})
            by_key = {condition["type"]: condition for condition in obj["status"].get("conditions") or ()}
            by_key |= {condition["type"]: condition for condition in patch.get("conditions") or ()}
            by_key = {key: value for key, value in patch.items() if not key.startswith("$")}
            obj["status"] = {**obj["status"], **by_key, "conditions": list(by_key.values())}
            if outcome.finalizers_removed:
                obj["metadata"].pop("finalizers")
            if outcome.delete:
                return passed
    return passed


def test_pod_fast_stages() -> None:
    new_pod = pod(phase="Pending")
    new_pod["metadata"]["ownerReferences"] = [{"kind": "Job"}]
    new_pod["spec"]["initContainers"] = [
        {"name": "i", "image": "j"},
        {"name": "k", "image": "l", "restartPolicy": "Always"},
    ]
    assert stages_passed("pod-fast.yaml", new_pod, limit=1) == ["pod-ready"]
    assert (new_pod["status"]["podIP"], new_pod["status"]["hostIP"]) == ("10.1.0.7", "172.16.0.1")
    assert [
        next(iter(init_container_status["state"]))
        for init_container_status in new_pod["status"]["initContainerStatuses"]
    ] == ["terminated", "running"]
    assert stages_passed("pod-fast.yaml", new_pod) == ["pod-complete"]
    assert new_pod["status"]["phase"] == "Succeeded"
    new_pod["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    assert stages_passed("pod-fast.yaml", new_pod) == ["pod-delete"]


def test_pod_general_stages() -> None:
    new_pod = pod(phase="Pending")
    new_pod["metadata"]["finalizers"] = ["kwok.x-k8s.io/fake"]
    new_pod["spec"]["initContainers"] = [{"name": "i", "image": "j", "resources": {"requests": {"cpu": "1"}}}]
    names = ["pod-create", "pod-init-container-running", "pod-init-container-completed", "pod-ready"]
    assert stages_passed("pod-general.yaml", new_pod) == names
    assert new_pod["status"]["phase"] == "Running"
    assert {condition["type"]: condition["status"] for condition in new_pod["status"]["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    new_pod["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    assert stages_passed("pod-general.yaml", new_pod) == ["pod-remove-finalizer", "pod-delete"]


def test_node_stages() -> None:
    new_pod = pod(addresses=[{"type": "InternalIP", "address": "1.2.3.4"}])
    assert stages_passed("node.yaml", new_pod, limit=3) == ["node-initialize", "node-heartbeat", "node-heartbeat"]
    status = new_pod["status"]
    assert {condition["type"]: condition["status"] for condition in status["conditions"]}["Ready"] == "True"
    assert status["addresses"] == [{"type": "InternalIP", "address": "1.2.3.4"}]
    assert status["allocatable"] == {"cpu": "1k", "memory": "1Ti", "pods": "1M"}


def test_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "stages.md").read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    [result] = read_stage_file(file).stages
    new_pod = pod(phase="Running")
    new_pod["metadata"]["labels"]["chaos"] = "true"
    assert result.stage.matches(new_pod, NOW)
    outcomes = all_of(result.stage.transition(new_pod, AROUND))
    assert [outcome.event is not None for outcome in outcomes] == [True, False]
    assert outcomes[1].patch["status"]["phase"] == "Failed"


def test_query_with_long_number_is_rejected() -> None:
    with pytest.raises(QuerySyntaxError, match="too long"):
        compile_query("1" * 5000)


@pytest.mark.parametrize("query", [f"1{'0' * 400} + 1.5", f"1{'0' * 400} - 1.5"])
def test_query_of_numbers_out_of_range_is_a_query_error(query: str) -> None:
    with pytest.raises(QueryError):
        list(compile_query(query)(OBJECT))


def test_query_replaces_lone_surrogates() -> None:
    assert list(compile_query(r'"\ud83d\ude00\ud800"')(None)) == ["😀\ufffd"]


def test_infinite_weight_is_invalid() -> None:
    spec = {
        "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
        "selector": {"matchLabels": {}},
        "weightFrom": {"expressionFrom": ".weight | tonumber"},
    }
    new_stage = read_stage(
        {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": "a"}, "spec": spec}
    )
    assert new_stage is not None
    assert new_stage.stage.weight_for({"weight": "1e999"}) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("[1, 2] < [1, 3]", True),
        ("[1] >= [1, null]", False),
        ("[.[]] >= [null]", True),
        ('["a"] > [1]', True),
        ("[[], [1]] < [[], [1, 2]]", True),
    ],
)
def test_query_compares_lists_as_jq(query: str, expected: bool) -> None:
    assert list(compile_query(query)([{"a": 1}])) == [expected]


def test_query_compares_objects_by_keys_then_values() -> None:
    query = compile_query(".[0] < .[1]")
    assert list(query([{"a": 2}, {"b": 1}])) == [True]
    assert list(query([{"a": 2}, {"a": 1}])) == [False]


@pytest.mark.parametrize("query", ["[][]" + "[.[]]" * 9, " | ".join(["(., .)"] * 30), " + ".join([".[]"] * 9)])
def test_query_that_combines_too_many_values_is_a_query_error(query: str) -> None:
    with pytest.raises(QueryError, match="too many values"):
        for _ in compile_query(query)(list(range(10))):
            pass
