"""Facts about Pod specs, and validation and warnings that use them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from steersman.apimachinery.bounded_cache import Doorkeeper
from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.defaults import default_pod
from steersman.apiserver.kinds.shared.podspec.rules import PodRules
from steersman.apiserver.kinds.shared.podspec.validate import validate_pod_spec
from steersman.apiserver.kinds.shared.podspec.warnings import pod_warnings, template_warnings
from steersman.apiserver.spec_facts import SpecFactsCache, new_facts

SPEC = Path("spec")


def spec(**changes: Any) -> dict[str, Any]:
    pod: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **changes}}
    default_pod(pod)
    for container in pod["spec"]["containers"]:
        container.setdefault("imagePullPolicy", "Always")
    return dict(pod["spec"])


def mounted(name: str, mount: str = "") -> dict[str, Any]:
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": mount or name, "mountPath": "/token"}]}
    return spec(containers=[container], volumes=[{"name": name, "emptyDir": {}}])


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> SpecFactsCache:
    """Cache that stores facts from the first time on."""
    monkeypatch.setattr(Doorkeeper, "admits", lambda self, key: True)
    return SpecFactsCache()


def test_facts_for_keeps_facts_from_the_second_time_on() -> None:
    cache = SpecFactsCache()
    facts = [cache.facts_for(spec()) for _ in range(3)]
    assert facts[0] is not facts[1]
    assert facts[1] is facts[2]


@pytest.mark.interpreted
def test_facts_for_returns_the_same_facts_for_equal_specs(cache: SpecFactsCache) -> None:
    assert cache.facts_for(spec()) is cache.facts_for(spec())
    assert cache.facts_for(spec()) is not cache.facts_for(spec(hostname="other"))
    assert cache.facts_for(spec()) is not SpecFactsCache().facts_for(spec())


@pytest.mark.interpreted
def test_facts_for_ignores_the_random_part_of_the_token_volume(cache: SpecFactsCache) -> None:
    assert cache.facts_for(mounted("kube-api-access-abcde")) is cache.facts_for(mounted("kube-api-access-x2x4z"))


@pytest.mark.parametrize("name", ["kube-api-access-", "kube-api-access-abcdef", "kube-api-access-ABCDE"])
def test_facts_for_distinguishes_volumes_with_similar_names(cache: SpecFactsCache, name: str) -> None:
    assert cache.facts_for(mounted(name)) is not cache.facts_for(mounted("kube-api-access-abcde"))


def test_validation_finds_a_mount_of_another_volume_after_a_valid_spec(cache: SpecFactsCache) -> None:
    good, bad = mounted("kube-api-access-abcde"), mounted("kube-api-access-abcde", mount="kube-api-access-fghij")
    assert list(validate_pod_spec(good, SPEC, facts_for=cache.facts_for)) == []
    assert [error.field for error in validate_pod_spec(bad, SPEC, facts_for=cache.facts_for)] == [
        "spec.containers[0].volumeMounts[0].name"
    ]


def test_facts_for_a_spec_with_ephemeral_volumes_are_new_each_time(cache: SpecFactsCache) -> None:
    judged = spec(volumes=[{"name": "v", "ephemeral": {}}])
    assert cache.facts_for(judged) is not cache.facts_for(judged)


@pytest.mark.interpreted
def test_facts_for_large_specs_are_kept_by_their_digest(cache: SpecFactsCache) -> None:
    large = [{"name": "c", "image": "i", "args": ["x" * 5000]}]
    assert cache.facts_for(spec(containers=large)) is cache.facts_for(spec(containers=large))
    other = [{**large[0], "args": ["y" * 5000]}]
    assert cache.facts_for(spec(containers=large)) is not cache.facts_for(spec(containers=other))


def test_validation_repeats_errors_of_an_invalid_spec(cache: SpecFactsCache) -> None:
    bad = spec(hostname="-")
    errors = [[str(error) for error in validate_pod_spec(bad, SPEC, facts_for=cache.facts_for)] for _ in range(2)]
    assert errors[0] == errors[1] != []


def test_validation_under_other_rules_is_separate(cache: SpecFactsCache) -> None:
    privileged = spec(containers=[{"name": "c", "image": "i", "securityContext": {"privileged": True}}])
    assert list(validate_pod_spec(privileged, SPEC, PodRules(), cache.facts_for)) == []
    errors = validate_pod_spec(privileged, SPEC, PodRules(allow_privileged=False), cache.facts_for)
    assert [error.field for error in errors] == ["spec.containers[0].securityContext.privileged"]


def test_validation_of_a_valid_spec_that_was_changed_in_place(cache: SpecFactsCache) -> None:
    changing = spec()
    assert list(validate_pod_spec(changing, SPEC, facts_for=cache.facts_for)) == []
    changing["containers"].append(copy.deepcopy(changing["containers"][0]))
    errors = validate_pod_spec(changing, SPEC, facts_for=cache.facts_for)
    assert [error.field for error in errors] == ["spec.containers[1].name"]


def warnings_of(cache: SpecFactsCache, name: str, **changes: Any) -> list[str]:
    return list(pod_warnings({"metadata": {"name": name}, "spec": spec(**changes)}, cache.facts_for))


def test_warnings_are_repeated_for_equal_specs(cache: SpecFactsCache) -> None:
    ports = [{"containerPort": 80, "protocol": "TCP"}]
    containers = [{"name": name, "image": "i", "ports": ports} for name in "ab"]
    warnings = [warnings_of(cache, name, containers=containers) for name in ("p", "q")]
    assert warnings[0] == warnings[1] != []
    assert warnings_of(cache, "p") == warnings_of(cache, "p") == []


def test_warnings_of_a_template_name_the_path_of_the_template(cache: SpecFactsCache) -> None:
    template = {"spec": spec(terminationGracePeriodSeconds=-1)}
    warnings = [list(template_warnings(template, Path(*way), cache.facts_for)) for way in (["a"], ["b", "c"], ["a"])]
    assert [texts[0].partition(":")[0] for texts in warnings] == [
        "a.spec.terminationGracePeriodSeconds",
        "b.c.spec.terminationGracePeriodSeconds",
        "a.spec.terminationGracePeriodSeconds",
    ]


def test_warnings_that_name_the_token_volume_are_not_kept(cache: SpecFactsCache) -> None:
    changes = [
        {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": name, "hostPath": {"path": "/a/../b"}}] * 2}
        for name in ("kube-api-access-abcde", "kube-api-access-fghij")
    ]
    warnings = [" ".join(warnings_of(cache, "p", **change)) for change in changes]
    assert "fghij" not in warnings[0]
    assert "abcde" not in warnings[1]


def test_new_facts_are_empty() -> None:
    facts = new_facts(spec())
    assert (facts.validated_under, facts.is_valid_new, facts.qos_class, facts.texts) == (set(), False, "", {})
