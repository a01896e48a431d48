"""Chaos rules: validation, selection, determinism, and what they do to pods and nodes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.nodes.simulation.simulated import Simulation, pod

from steersman.apimachinery.trees import Tree
from steersman.nodes.chaos.format import read_rules
from steersman.nodes.chaos.rules import Chaos
from steersman.nodes.node_object import TemplateError
from steersman.nodes.options import NodesOptions

CREATED = datetime(2026, 1, 2, tzinfo=UTC)
PREFIX = "nodes.steersman.dev/"


def node(name: str = "node-0", **labels: str) -> Tree:
    return {"metadata": {"name": name, "labels": labels, "creationTimestamp": "2026-01-02T00:00:00Z"}}


def chaos(*rules: Tree, seed: int = 1) -> Chaos:
    return Chaos(*read_rules({"seed": seed, "rules": list(rules)}))


def named(name: str, **changes: Any) -> Tree:
    new_pod = pod(**changes)
    new_pod["metadata"]["name"] = name
    return new_pod


def added(rules: Chaos, obj: Tree, on: Tree | None = None) -> Tree:
    notes = rules.with_annotations(obj, on or node())["metadata"]["annotations"]
    return {key.removeprefix(PREFIX): value for key, value in notes.items()}


# The file


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (None, "Expected `object`, got `null`"),
        ({}, "Object missing required field `rules`"),
        ({"rules": [], "sed": 1}, "Object contains unknown field `sed`"),
        ({"rules": [{"failure": "crash", "evry": "1m"}]}, "unknown field `evry` - at `$.rules[0]`"),
        ({"rules": [{"failure": "crash", "select": {"pods": []}}]}, "unknown field `pods` - at `$.rules[0].select`"),
        ({"rules": [{"failure": "crush"}]}, "rules[0].failure: 'crush' is not one of image-pull, crash, oom, hang"),
        (
            {"rules": [{"failure": "crash", "for": "1m"}]},
            "rules[0].for: is not used by crash, which takes after, every, times, exitCode",
        ),
        ({"rules": [{"failure": "crash", "after": "1"}]}, 'rules[0].after: time: missing unit in duration "1"'),
        ({"rules": [{"failure": "crash", "after": "-1s"}]}, "rules[0].after: -1s is less than 0"),
        ({"rules": [{"failure": "crash", "every": "0s"}]}, "rules[0].every: must be greater than 0"),
        ({"rules": [{"failure": "crash", "after": "1s", "every": "1s"}]}, "rules[0].every: cannot be combined"),
        ({"rules": [{"failure": "crash", "exitCode": 0}]}, "rules[0].exitCode: 0 is not between 1 and 255"),
        ({"rules": [{"failure": "crash", "times": 0}]}, "rules[0].times: 0 is less than 1"),
        ({"rules": [{"failure": "oom", "probability": 2}]}, "rules[0].probability: 2.0 is not between 0 and 1"),
        ({"rules": [{"failure": "slow-start"}]}, "rules[0].for: is required by slow-start"),
        ({"rules": [{"failure": "evict", "resource": "cpu"}]}, "rules[0].resource: 'cpu' is not one of memory"),
        ({"rules": [{"failure": "stop-node", "every": "1m", "for": "2m"}]}, "rules[0].for: must be set and less than"),
        (
            {"rules": [{"failure": "stop-node", "select": {"labels": {"a": "b"}}}]},
            "rules[0].select.labels: selects pods; stop-node takes nodes and nodeLabels",
        ),
        (
            {"rules": [{"failure": "oom", "name": "a"}, {"failure": "oom", "name": "a"}]},
            "rules[1].name: 'a' is the name of another rule",
        ),
    ],
)
def test_invalid_chaos_file_is_rejected_with_field_and_fault(document: Any, fault: str) -> None:
    with pytest.raises(TemplateError) as caught:
        read_rules(document)
    assert fault in str(caught.value)


def test_options_report_the_chaos_file_of_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "chaos.yaml"
    with pytest.raises(TemplateError, match=r"--chaos: cannot read .*chaos.yaml: no such file"):
        NodesOptions(chaos=file).chaos_rules()
    file.write_text("rules: [{failure: crush}]")
    with pytest.raises(TemplateError, match=r"chaos.yaml: rules\[0\].failure: 'crush' is not one of"):
        NodesOptions(chaos=file).chaos_rules()
    file.write_text("rules: [{failure: oom}]")
    assert NodesOptions(chaos=file).chaos_rules().concerns_pods
    assert not NodesOptions().chaos_rules().concerns_pods


# Selection


@pytest.mark.parametrize(
    ("select", "is_selected"),
    [
        ({}, True),
        ({"namespaces": ["def*"], "names": ["p"], "labels": {"app": "web"}}, True),
        ({"namespaces": ["other"]}, False),
        ({"names": ["q*", "r"]}, False),
        ({"labels": {"app": "db"}}, False),
        ({"images": ["busy*"]}, True),
        ({"images": ["*:canary"]}, False),
        ({"containers": ["d"]}, False),
        ({"nodes": ["node-[01]"], "nodeLabels": {"zone": "a"}}, True),
        ({"nodes": ["node-1"]}, False),
        ({"nodeLabels": {"zone": "b"}}, False),
    ],
)
def test_rule_selects_pods(select: Tree, is_selected: bool) -> None:
    new_pod = pod()
    new_pod["metadata"]["labels"] = {"app": "web"}
    notes = added(chaos({"failure": "crash", "select": select}), new_pod, node(zone="a"))
    assert notes == ({"crash-after-seconds.c": "0.0"} if is_selected else {})


def test_init_containers_are_selected_only_by_name_or_image() -> None:
    new_pod = pod(initContainers=[{"name": "i", "image": "init"}])
    assert added(chaos({"failure": "image-pull"}), new_pod) == {"image-pull-error.c": "true"}
    notes = added(chaos({"failure": "image-pull", "select": {"containers": ["i"]}}), new_pod)
    assert notes == {"image-pull-error.i": "true"}


@pytest.mark.parametrize(
    ("rule", "notes"),
    [
        (
            {"failure": "image-pull", "for": "1m30s", "message": "denied"},
            {"image-pull-error.c": "denied", "image-pull-error-seconds.c": "90.0"},
        ),
        ({"failure": "crash", "after": "5s", "exitCode": 7}, {"crash-after-seconds.c": "5.0", "exit-code.c": "7"}),
        ({"failure": "oom", "after": "1m"}, {"oom-after-seconds.c": "60.0"}),
        ({"failure": "hang", "after": "1s"}, {"hang-after-seconds.c": "1.0"}),
        (
            {"failure": "not-ready", "after": "9s", "for": "3s"},
            {"unready-after-seconds.c": "9.0", "unready-seconds.c": "3.0"},
        ),
        ({"failure": "slow-start", "for": "20s"}, {"start-seconds.c": "20.0"}),
        (
            {"failure": "evict", "after": "30s", "resource": "pids"},
            {"evict-after-seconds": "30.0", "evict-resource": "pids"},
        ),
        ({"failure": "stop-node"}, {}),
    ],
)
def test_rule_sets_annotations_of_its_failure(rule: Tree, notes: Tree) -> None:
    assert added(chaos(rule), pod()) == notes


def test_own_annotations_of_a_pod_and_earlier_rules_take_precedence() -> None:
    rules = chaos({"failure": "crash", "after": "5s"}, {"failure": "crash", "after": "9s"})
    own = {"crash-after-seconds": "70"}
    assert added(rules, pod(annotations=own)) == own
    assert added(rules, pod()) == {"crash-after-seconds.c": "5.0"}


# Draws


def failing(rules: Chaos) -> list[int]:
    return [number for number in range(200) if added(rules, named(f"web-{number}"))]


def test_probability_is_a_share_of_pods_drawn_from_the_seed() -> None:
    rule = {"failure": "oom", "probability": 0.25}
    first = failing(chaos(rule))
    assert 30 < len(first) < 70
    assert failing(chaos(rule)) == first
    assert failing(chaos(rule, seed=2)) != first
    assert failing(chaos({**rule, "probability": 0})) == []
    assert len(failing(chaos({**rule, "probability": 1}))) == 200


def test_times_between_failures_are_drawn_per_restart_around_their_mean() -> None:
    rules, times = chaos({"failure": "crash", "every": "10m"}), []
    for restarts in range(400):
        new_pod = pod()
        new_pod["status"]["containerStatuses"] = [{"name": "c", "restartCount": restarts}]
        times.append(float(added(rules, new_pod)["crash-after-seconds.c"]))
    assert len(set(times)) > 390
    assert 500 < sum(times) / len(times) < 700


def test_times_limit_the_restarts_of_a_container() -> None:
    rules = chaos({"failure": "crash", "times": 2})
    for restarts, fails in ((0, True), (1, True), (2, False)):
        new_pod = pod()
        new_pod["status"]["containerStatuses"] = [{"name": "c", "restartCount": restarts}]
        assert bool(added(rules, new_pod)) is fails


def test_chaos_drives_the_simulated_kubelet() -> None:
    created = chaos({"failure": "image-pull", "for": "5s"}).with_annotations(pod(), node())
    assert Simulation(created).run(60) == [
        (0.0, "Pending", "ErrImagePull"),
        (1.0, "Pending", "ImagePullBackOff"),
        (10.0, "Running", "Ready"),
    ]


# Nodes


def outages(rules: Chaos, name: str = "node-0", *, hours: int = 24) -> list[tuple[float, float]]:
    """Begin and end of each outage, in seconds since the node's creation."""
    result, now, begin = [], CREATED, None
    while now < CREATED + timedelta(hours=hours):
        rule, change = rules.outage(node(name), now)
        elapsed = (now - CREATED).total_seconds()
        if rule and begin is None:
            begin = elapsed
        elif not rule and begin is not None:
            result.append((begin, elapsed))
            begin = None
        if change is None:
            break
        assert change > now
        now = change
    return result


def test_node_is_stopped_once_in_every_period() -> None:
    result = outages(chaos({"failure": "stop-node", "every": "1h", "for": "5m"}))
    assert len(result) == 24
    assert all(round(end - begin, 2) == 300 for begin, end in result)
    assert [int(begin // 3600) for begin, _ in result] == list(range(24))
    assert outages(chaos({"failure": "stop-node", "every": "1h", "for": "5m"})) == result
    assert outages(chaos({"failure": "stop-node", "every": "1h", "for": "5m"}), "node-1") != result


def test_node_is_stopped_once_after_a_time() -> None:
    rules = chaos({"failure": "stop-node", "after": "1m", "for": "10s"})
    assert outages(rules) == [(60, 70)]
    assert rules.outage(node(), CREATED + timedelta(seconds=70)) == ("", None)
    rules = chaos({"failure": "stop-node", "after": "1m", "select": {"nodes": ["node-0"]}})
    assert rules.outage(node(), CREATED + timedelta(days=9)) == ("rule-0", None)
    assert rules.outage(node("node-1"), CREATED + timedelta(days=9)) == ("", None)
