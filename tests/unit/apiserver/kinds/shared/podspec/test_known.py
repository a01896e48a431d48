from __future__ import annotations

import copy
from typing import Any

import pytest

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod
from steersman.apiserver.kinds.shared.podspec.known import known_of
from steersman.apiserver.kinds.shared.podspec.rules import PodRules
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_spec
from steersman.apiserver.kinds.shared.podspec.warnings import pod_warnings, template_warnings


def spec(**changes: Any) -> dict[str, Any]:
    pod: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **changes}}
    default_pod(pod)
    for container in pod["spec"]["containers"]:
        container.setdefault("imagePullPolicy", "Always")
    return dict(pod["spec"])


def mounted(name: str, mount: str = "") -> dict[str, Any]:
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": mount or name, "mountPath": "/token"}]}
    return spec(containers=[container], volumes=[{"name": name, "emptyDir": {}}])


def test_specs_differ_in_their_keys() -> None:
    assert known_of(spec()) is known_of(spec())
    assert known_of(spec()) is not known_of(spec(hostname="other"))


def test_the_random_part_of_the_token_volume_does_not_count() -> None:
    assert known_of(mounted("kube-api-access-abcde")) is known_of(mounted("kube-api-access-x2x4z"))


@pytest.mark.parametrize("name", ["kube-api-access-", "kube-api-access-abcdef", "kube-api-access-ABCDE"])
def test_other_names_like_it_count(name: str) -> None:
    assert known_of(mounted(name)) is not known_of(mounted("kube-api-access-abcde"))


def test_a_mount_of_another_volume_is_seen_after_a_good_spec() -> None:
    good, bad = mounted("kube-api-access-abcde"), mounted("kube-api-access-abcde", mount="kube-api-access-fghij")
    assert list(validate_pod_spec(good, Path("spec"))) == []
    assert [error.field for error in validate_pod_spec(bad, Path("spec"))] == [
        "spec.containers[0].volumeMounts[0].name"
    ]


def test_specs_with_ephemeral_volumes_are_judged_each_time() -> None:
    judged = spec(volumes=[{"name": "v", "ephemeral": {}}])
    assert known_of(judged) is not known_of(judged)


def test_large_specs_are_known_too() -> None:
    large = [{"name": "c", "image": "i", "args": ["x" * 5000]}]
    assert known_of(spec(containers=large)) is known_of(spec(containers=large))
    assert known_of(spec(containers=large)) is not known_of(spec(containers=[{**large[0], "args": ["y" * 5000]}]))


def test_faults_are_told_every_time() -> None:
    bad = spec(hostname="-")
    told = [[str(error) for error in validate_pod_spec(bad, Path("spec"))] for _ in range(2)]
    assert told[0] == told[1] != []


def test_a_spec_good_by_one_rule_is_held_to_another() -> None:
    privileged = spec(containers=[{"name": "c", "image": "i", "securityContext": {"privileged": True}}])
    assert list(validate_pod_spec(privileged, Path("spec"), PodRules())) == []
    errors = validate_pod_spec(privileged, Path("spec"), PodRules(allow_privileged=False))
    assert [error.field for error in errors] == ["spec.containers[0].securityContext.privileged"]


def test_a_good_spec_changed_in_place_is_looked_at_again() -> None:
    changing = spec()
    assert list(validate_pod_spec(changing, Path("spec"))) == []
    changing["containers"].append(copy.deepcopy(changing["containers"][0]))
    assert [error.field for error in validate_pod_spec(changing, Path("spec"))] == ["spec.containers[1].name"]


def test_warnings_come_every_time_and_only_where_there_is_cause() -> None:
    loud = {"metadata": {"name": "p"}, "spec": spec(nodeSelector={"beta.kubernetes.io/os": "linux"})}
    quiet = {"metadata": {"name": "p"}, "spec": spec()}
    assert list(pod_warnings(quiet)) == list(pod_warnings(quiet)) == []
    assert list(pod_warnings(loud)) == list(pod_warnings(loud)) != []


def warnings_of(name: str, **changes: Any) -> list[str]:
    return list(pod_warnings({"metadata": {"name": name}, "spec": spec(**changes)}))


def test_warnings_are_told_every_time() -> None:
    ports = [{"containerPort": 80, "protocol": "TCP"}]
    containers = [{"name": name, "image": "i", "ports": ports} for name in "ab"]
    told = [warnings_of(name, containers=containers) for name in ("p", "q")]
    assert told[0] == told[1] != []


def test_warnings_of_a_template_and_of_a_pod_tell_their_own_paths() -> None:
    template = {"spec": spec(terminationGracePeriodSeconds=-1)}
    told = [list(template_warnings(template, Path(*way))) for way in (["a"], ["b", "c"], ["a"])]
    assert [text[0].partition(":")[0] for text in told] == [
        "a.spec.terminationGracePeriodSeconds",
        "b.c.spec.terminationGracePeriodSeconds",
        "a.spec.terminationGracePeriodSeconds",
    ]


def test_a_warning_that_names_the_token_volume_is_about_one_pod() -> None:
    changes = [
        {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": name, "hostPath": {"path": "/a/../b"}}] * 2}
        for name in ("kube-api-access-abcde", "kube-api-access-fghij")
    ]
    told = [" ".join(warnings_of("p", **change)) for change in changes]
    assert "fghij" not in told[0]
    assert "abcde" not in told[1]
