"""``KubeSchedulerConfiguration``: decoding, defaults, validation and the resulting behavior."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.unit.scheduler.world import World, near, node, pod, required

from steersman.apimachinery.selectors import parse_label_selector
from steersman.apimachinery.trees import Tree
from steersman.scheduler.configuration.encoding import encode_configuration
from steersman.scheduler.configuration.errors import ConfigurationError
from steersman.scheduler.configuration.extenders import ExtenderSettings, ExtenderTLS
from steersman.scheduler.configuration.loading import LoadedConfiguration, parse_configuration
from steersman.scheduler.configuration.plugin_sets import PLUGINS, resolve_plugins
from steersman.scheduler.configuration.settings import Settings
from steersman.scheduler.options import SchedulerOptions, set_up
from steersman.scheduler.pod_info import PodInfo

HEAD: Tree = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
PROFILE = "initializing profiles: creating profile for scheduler name default-scheduler: "


def loaded(**configured: Any) -> LoadedConfiguration:
    return parse_configuration(yaml.safe_dump({**HEAD, **configured}, sort_keys=False).encode())


def settings_with_args(plugin: str, **args: Any) -> Settings:
    """Return the settings of a configuration with arguments for one plugin."""
    return loaded(profiles=[{"pluginConfig": [{"name": plugin, "args": args}]}]).settings


def plugins(**points: Tree) -> Settings:
    return loaded(profiles=[{"plugins": points}]).settings


# Decoding


def test_configuration_defaults_when_empty() -> None:
    assert loaded().settings == Settings()


def test_configuration_sets_process_options() -> None:
    election = {"leaderElect": False, "leaseDuration": "20s", "resourceName": "mine"}
    connection = {"kubeconfig": "/etc/scheduler.conf", "qps": 7.5, "burst": 9}
    options = SchedulerOptions(**loaded(leaderElection=election, clientConnection=connection).options)
    assert options == SchedulerOptions(
        leader_elect=False,
        leader_elect_lease_duration_seconds=20,
        leader_elect_resource_name="mine",
        kubeconfig=Path("/etc/scheduler.conf"),
        kube_api_qps=7.5,
        kube_api_burst=9,
    )


def test_extender_settings_have_upstreams_defaults() -> None:
    extender = {
        "urlPrefix": "https://x/prefix",
        "filterVerb": "filter",
        "weight": 5,
        "enableHTTPS": True,
        "tlsConfig": {"serverName": "name", "caData": "Y2E=", "certFile": "/cert"},
        "managedResources": [{"name": "example.com/a"}],
        "ignorable": True,
    }
    assert loaded(extenders=[extender]).settings.extenders == (
        ExtenderSettings(
            url_prefix="https://x/prefix",
            filter_verb="filter",
            weight=5,
            enable_https=True,
            tls=ExtenderTLS(server_name="name", ca_data=b"ca", cert_file="/cert"),
            timeout_seconds=5,
            managed_resources=frozenset({"example.com/a"}),
            ignorable=True,
        ),
    )


def test_fit_plugin_ignores_managed_resources_that_the_scheduler_is_to_ignore() -> None:
    managed = [{"name": "example.com/a", "ignoredByScheduler": True}, {"name": "example.com/b"}]
    settings = loaded(
        extenders=[{"urlPrefix": "http://x", "managedResources": managed}],
        profiles=[{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/c"]}}]}],
    ).settings
    assert settings.profiles[0].args["NodeResourcesFit"]["ignoredResources"] == ["example.com/c", "example.com/a"]


@pytest.mark.parametrize(
    ("tls", "message"),
    [
        ({"caFile": "/nowhere/ca.crt"}, "open /nowhere/ca.crt: No such file or directory"),
        ({"caData": "bm9uZQ=="}, "the certificate authority of https://x cannot be read"),
        ({"caData": "bm9uZQ==", "insecure": True}, "specifying a root certificates file with the insecure flag"),
        ({"certData": "bm9uZQ=="}, "a client certificate and its key need each other"),
        ({"certData": "bm9uZQ==", "keyData": "bm9uZQ=="}, "the client certificate and its key cannot be read"),
    ],
)
def test_unusable_certificate_of_an_extender_is_named(tmp_path: Path, tls: Tree, message: str) -> None:
    path = tmp_path / "scheduler.yaml"
    extender = {"urlPrefix": "https://x/prefix", "enableHTTPS": True, "tlsConfig": tls}
    path.write_text(yaml.safe_dump({**HEAD, "extenders": [extender]}))
    with pytest.raises(ConfigurationError) as raised:
        set_up(config=path)
    assert str(raised.value).startswith(f"{path}: extenders[0].tlsConfig: {message}")


def test_flags_override_election_settings_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    election = {"leaseDuration": "20s", "resourceName": "mine"}
    path.write_text(yaml.safe_dump({**HEAD, "leaderElection": election, "podInitialBackoffSeconds": 3}))
    setup = set_up(config=path, leader_elect_resource_name="flag", scheduler_name="ignored")
    assert setup.options.leader_elect_resource_name == "flag"
    assert setup.options.leader_elect_lease_duration_seconds == 20
    assert setup.settings.pod_initial_backoff_seconds == 3
    assert [profile.scheduler_name for profile in setup.settings.profiles] == ["default-scheduler"]


def test_flags_build_the_profile_without_a_file() -> None:
    setup = set_up(
        scheduler_name="mine", percentage_of_nodes_to_score=30, pod_max_in_unschedulable_pods_duration_seconds=60
    )
    (profile,) = setup.settings.profiles
    assert setup.settings.pod_max_in_unschedulable_pods_seconds == 60
    assert (profile.scheduler_name, profile.percentage_of_nodes_to_score) == ("mine", 30)


def test_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml: No such file or directory"):
        set_up(config=tmp_path / "nowhere.yaml")


# Validation. Texts of unknown fields, queue sort and profiles are those of a real kube-scheduler.
WRONG: list[tuple[Tree, str]] = [
    ({"percentageOfNodeToScore": 100}, 'strict decoding error: unknown field "percentageOfNodeToScore"'),
    (
        {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"resourcess": []}}}]}]},
        (
            "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin "
            'NodeResourcesFit: strict decoding error: unknown field "scoringStrategy.resourcess"'
        ),
    ),
    ({"profiles": [{"plugins": {"filters": {}}}]}, 'strict decoding error: unknown field "profiles[0].plugins.filters"'),
    ({"parallelism": "x"}, "json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32"),
    ({"parallelism": 0}, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
    ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
    ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
    (
        {"podInitialBackoffSeconds": 11},
        "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
    ),
    ({"clientConnection": {"burst": -1}}, "clientConnection.burst: Invalid value: -1: must be non-negative"),
    ({"leaderElection": {"retryPeriod": "x"}}, 'leaderElection.retryPeriod: Invalid value: "x": time: invalid duration "x"'),
    ({"leaderElection": {"retryPeriod": "-1s"}}, 'leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero'),
    (
        {"leaderElection": {"leaseDuration": "9s"}},
        'leaderElection.leaseDuration: Invalid value: "10s": LeaseDuration must be greater than RenewDeadline',
    ),
    (
        {"leaderElection": {"resourceLock": "configmaps"}},
        'leaderElection.resourceLock: Invalid value: "configmaps": resourceLock value must be "leases"',
    ),
    ({"profiles": [{"schedulerName": "a"}, {}]}, "profiles[1].schedulerName: Required value"),
    ({"profiles": [{"schedulerName": "a"}] * 2}, 'profiles[1].schedulerName: Duplicate value: "a"'),
    ({"profiles": [{"percentageOfNodesToScore": -1}]}, "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"),
    (
        {"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p"}]},
        "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
    ),
    (
        {"extenders": [{"urlPrefix": "http://x", "bindVerb": "b"}] * 2},
        'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
    ),
    (
        {"extenders": [{"urlPrefix": "http://x", "managedResources": [{"name": "cpu"}]}]},
        'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
    ),
    (
        {"extenders": [{"urlPrefix": "http://x", "managedResources": [{"name": "a.b/c"}] * 2}]},
        'extenders[0].managedResources[1].name: Invalid value: "a.b/c": duplicate extender managed resource name',
    ),
    (
        {"extenders": [{"urlPrefix": "http://x", "httpTimeout": "5"}]},
        'extenders[0].httpTimeout: Invalid value: "5": time: missing unit in duration "5"',
    ),
    (
        {"extenders": [{"urlPrefix": "http://x", "filterverb": "f"}]},
        'strict decoding error: unknown field "extenders[0].filterverb"',
    ),
    (
        {"profiles": [{"plugins": {"queueSort": {"disabled": [{"name": "*"}]}}}]},
        f'{PROFILE}only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
    ),
    (
        {"profiles": [{"plugins": {"bind": {"disabled": [{"name": "DefaultBinder"}]}}}]},
        f'{PROFILE}at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
    ),
    ({"profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Foo"}]}}}]}, f'{PROFILE}PreFilterPlugin "Foo" does not exist'),
    ({"profiles": [{"plugins": {"score": {"enabled": [{"name": "Foo"}]}}}]}, f'{PROFILE}ScorePlugin "Foo" does not exist'),
    (
        {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "ImageLocality"}]}}}]},
        f'{PROFILE}plugin "ImageLocality" does not extend FilterPlugin plugin',
    ),
    (
        {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "NodeName"}] * 2}}}]},
        f'{PROFILE}plugin "NodeName" already registered as "FilterPlugin"',
    ),
    (
        {"profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeName"}] * 2}}}]},
        f'{PROFILE}plugin "NodeName" already registered as "FilterPlugin"',
    ),
    (
        {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "EBSLimits"}]}}}]},
        (
            'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" '
            '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("configured", "text"), WRONG)
def test_invalid_configuration_is_rejected(configured: Tree, text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        loaded(**configured)
    assert str(refused.value) == text


WRONG_ARGS: list[tuple[str, Tree, str]] = [
    ("DefaultPreemption", {"minCandidateNodesPercentage": 101}, "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"),
    ("DefaultPreemption", {"minCandidateNodesAbsolute": -1}, "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"),
    ("InterPodAffinity", {"hardPodAffinityWeight": 101}, "hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"),
    ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 2}]}, "resources[0].weight: Invalid value: 2: must be 1"),
    ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu"}, {"name": "cpu"}]}, 'resources[1].name: Duplicate value: "cpu"'),
    ("NodeResourcesFit", {"scoringStrategy": {"type": "Best"}}, 'scoringStrategy.type: Unsupported value: "Best": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'),
    ("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 101}]}}, "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]"),
    ("NodeResourcesFit", {"scoringStrategy": {"type": "RequestedToCapacityRatio"}}, "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio"),
    ("NodeResourcesFit", {"scoringStrategy": {"type": "MostAllocated", "requestedToCapacityRatio": {}}}, "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio"),
    ("NodeResourcesFit", {"ignoredResourceGroups": ["a/b"]}, "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"),
    ("PodTopologySpread", {"defaultingType": "X"}, 'defaultingType: Unsupported value: "X": supported values: "System", "List"'),
    ("PodTopologySpread", {"defaultConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]}, 'defaultingType: Invalid value: "System": when .defaultConstraints are not empty'),
    ("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "Never"}]}, 'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"'),
    ("VolumeBinding", {"bindTimeoutSeconds": -1}, "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value"),
    ("VolumeBinding", {"shape": [{"utilization": 0, "score": 0}]}, 'shape: Invalid value: [{"utilization":0,"score":0}]: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring'),
    ("DynamicResources", {"bindingTimeout": "500ms"}, 'bindingTimeout: Invalid value: "500ms": must be at least 1 second'),
    ("NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Gt", "values": ["a"]}]}]}}}, 'addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Gt": supported values: "In", "NotIn"'),
]  # fmt: skip


@pytest.mark.parametrize(("plugin", "args", "text"), WRONG_ARGS)
def test_invalid_plugin_args_are_rejected(plugin: str, args: Tree, text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings_with_args(plugin, **args)
    assert str(refused.value) == f"profiles[0].pluginConfig[0].args.{text}"


def test_validation_reports_all_errors() -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings_with_args("DefaultPreemption", minCandidateNodesPercentage=0, minCandidateNodesAbsolute=0)
    assert str(refused.value) == (
        "[profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
        "minCandidateNodesAbsolute, profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: 0: "
        "cannot be zero at the same time as minCandidateNodesPercentage]"
    )


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ([], "shape: Required value: at least one point must be specified"),
        ([(0, 0), (0, 1)], "shape[1].utilization: Invalid value: 0: values must be sorted in increasing order"),
        ([(0, 11)], "shape[0].score: Invalid value: 11: not in valid range [0, 10]"),
        ([(101, 1)], "shape[0].utilization: Invalid value: 101: not in valid range [0, 100]"),
    ],
)
def test_shape_must_be_sorted_and_in_range(shape: list[tuple[int, int]], text: str) -> None:
    points = [{"utilization": at, "score": score} for at, score in shape]
    strategy = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": points}}
    with pytest.raises(ConfigurationError) as refused:
        settings_with_args("NodeResourcesFit", scoringStrategy=strategy)
    assert str(refused.value).endswith(f".requestedToCapacityRatio.{text}")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a: b", "Object 'Kind' is missing"),
        (b"kind: X", "Object 'apiVersion' is missing"),
        (b"- a", "couldn't decode as KubeSchedulerConfiguration: it is no object"),
        (
            b"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
            (
                'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3": '
                "it must be KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1"
            ),
        ),
    ],
)
def test_other_kinds_are_rejected(raw: bytes, text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_configuration(raw)
    assert str(refused.value) == text


def test_duplicate_key_is_rejected() -> None:
    with pytest.raises(
        ConfigurationError,
        match=r'^strict decoding error: yaml: unmarshal errors:\n.*key "parallelism" already set in map',
    ):
        parse_configuration(yaml.safe_dump(HEAD).encode() + b"parallelism: 1\nparallelism: 2\n")


def test_plugin_args_of_another_kind_are_rejected() -> None:
    with pytest.raises(ConfigurationError) as refused:
        settings_with_args("VolumeBinding", apiVersion=HEAD["apiVersion"], kind="NodeAffinityArgs")
    assert str(refused.value) == (
        "decoding .profiles[0].pluginConfig[0]: args for plugin VolumeBinding were not of type "
        "VolumeBindingArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io"
    )


def test_plugin_args_of_an_unknown_plugin_are_rejected() -> None:
    with pytest.raises(ConfigurationError, match=r'pluginConfig\[0\].name: Unsupported value: "NodeResourceFit"'):
        settings_with_args("NodeResourceFit")


# Plugins


def test_default_plugins_are_enabled_at_all_their_extension_points() -> None:
    enabled = resolve_plugins(None)
    for name, points in PLUGINS.items():
        assert {point for point, names in enabled.points.items() if name in names} == points
    assert enabled.points["postFilter"] == ("DynamicResources", "DefaultPreemption")
    assert [enabled.weights[name] for name in ("TaintToleration", "NodeAffinity", "NodeResourcesFit")] == [3, 2, 1]


def test_extension_point_overrides_multi_point() -> None:
    score = {"disabled": [{"name": "TaintToleration"}], "enabled": [{"name": "ImageLocality", "weight": 7}]}
    multi = {"disabled": [{"name": "NodePorts"}], "enabled": [{"name": "NodeAffinity", "weight": 5}]}
    enabled = resolve_plugins({"score": score, "multiPoint": multi})
    assert "TaintToleration" not in enabled.points["score"]
    assert "TaintToleration" in enabled.points["filter"]
    assert "NodePorts" not in enabled.points["filter"]
    assert enabled.points["score"][0] == "ImageLocality"  # enabled for this point explicitly: first
    assert (enabled.weights["ImageLocality"], enabled.weights["NodeAffinity"]) == (7, 5)
    assert enabled.points["filter"].index("NodeAffinity") == 3  # at its default position


def test_all_plugins_can_be_disabled_at_one_extension_point() -> None:
    assert resolve_plugins({"score": {"disabled": [{"name": "*"}]}}).points["score"] == ()


def test_profile_schedules_only_pods_of_its_scheduler_name() -> None:
    tainted = node("tainted", taints=[{"key": "k", "effect": "NoSchedule"}])
    bold = {"schedulerName": "bold", "plugins": {"filter": {"disabled": [{"name": "TaintToleration"}]}}}
    settings = loaded(profiles=[{"schedulerName": "default-scheduler"}, bold]).settings
    world = World(tainted, settings=settings)
    assert "1 node(s) had untolerated taint(s)" in world.schedule(pod("p"))
    assert world.schedule(pod("q", schedulerName="bold")) == "tainted"
    world.add(pod("r", schedulerName="nobody"))
    assert world.schedule_one() is None


def test_first_feasible_node_is_selected_without_score_plugins() -> None:
    world = World(*(node(f"n{n}") for n in range(3)), settings=plugins(score={"disabled": [{"name": "*"}]}))
    assert [world.schedule(pod(f"p{n}", cpu="1")) for n in range(4)] == ["n0", "n1", "n2", "n0"]


def test_preemption_is_disabled_without_its_plugin() -> None:
    world = World(
        node("n", cpu="1"), settings=plugins(postFilter={"disabled": [{"name": "DefaultPreemption"}]})
    )  # fmt: skip
    world.running("n", pod("low", cpu="1"))
    failed = world.fail(pod("high", cpu="1", priority=9))
    assert failed.victims is None
    assert failed.message == "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate"


def test_scheduling_gates_are_ignored_without_their_plugin() -> None:
    world = World(node("n"), settings=plugins(preEnqueue={"disabled": [{"name": "SchedulingGates"}]}))
    assert world.schedule(pod("p", schedulingGates=[{"name": "g"}])) == "n"


# Arguments


def test_ignored_resources_are_not_filtered() -> None:
    gpu = {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]}
    assert "Insufficient example.com/gpu" in World(node("n")).schedule(pod("p", **gpu))
    for settings in (
        settings_with_args("NodeResourcesFit", ignoredResources=["example.com/gpu"]),
        settings_with_args("NodeResourcesFit", ignoredResourceGroups=["example.com"]),
    ):
        assert World(node("n"), settings=settings).schedule(pod("p", **gpu)) == "n"


def test_most_allocated_packs_pods() -> None:
    settings = settings_with_args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})
    world = World(node("a"), node("b"), settings=settings)
    world.running("b", pod("first", cpu="1"))
    assert [world.schedule(pod(f"p{n}", cpu="1")) for n in range(2)] == ["b", "b"]


def test_added_affinity_applies_to_all_pods() -> None:
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["mine"]}]}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    settings = settings_with_args("NodeAffinity", addedAffinity=added)
    world = World(node("a"), settings=settings)
    assert "1 node(s) didn't match scheduler-enforced node affinity" in world.schedule(pod("p"))
    world.core.set_node(node("b", labels={"pool": "mine"}))
    assert world.schedule(pod("q")) == "b"


def test_default_spread_constraints_can_be_do_not_schedule() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    settings = settings_with_args("PodTopologySpread", defaultingType="List", defaultConstraints=[constraint])
    world = World(node("a"), node("b", cpu="1"), settings=settings)
    world.core.workloads.set_owner("rs", parse_label_selector("app=x"))
    placed = [world.schedule(pod(f"p{n}", labels={"app": "x"}, owner="rs", cpu="1")) for n in range(4)]
    assert sorted(placed[:3]) == ["a", "a", "b"]
    assert "1 node(s) didn't match pod topology spread constraints" in placed[3]


@pytest.mark.parametrize(("weight", "expected"), [(100, "a"), (0, "b")])
def test_hard_pod_affinity_weight_is_configurable(weight: int, expected: str) -> None:
    world = World(
        node("a", labels={"zone": "a"}),
        node("b", labels={"zone": "b"}),
        settings=settings_with_args("InterPodAffinity", hardPodAffinityWeight=weight),
    )
    affinity = {"affinity": required("podAffinity", near({"app": "x"}, "zone"))}
    world.running("a", pod("friend", labels={"app": "x"}, cpu="1", **affinity))
    assert world.schedule(pod("p", labels={"app": "x"}, cpu="1")) == expected


def test_preferred_terms_of_existing_pods_can_be_ignored() -> None:
    term = {"podAffinityTerm": near({"app": "x"}), "weight": 100}
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    for ignored, expected in ((False, "a"), (True, "b")):
        settings = settings_with_args("InterPodAffinity", ignorePreferredTermsOfExistingPods=ignored)
        world = World(node("a"), node("b"), settings=settings)
        world.running("a", pod("friend", cpu="1", affinity=affinity))
        assert world.schedule(pod("p", labels={"app": "x"}, cpu="1")) == expected


def test_backoff_is_configurable() -> None:
    world = World(settings=loaded(podInitialBackoffSeconds=4, podMaxBackoffSeconds=6).settings)
    waiting = pod("p")
    world.add(waiting)
    waits = []
    for _ in range(3):
        world.schedule_one()
        (queued,) = world.core.queue.unschedulable_pods()
        waits.append(queued.due - world.now)
        world.now = queued.due
        world.core.queue.activate([PodInfo(waiting).uid], world.now)
    assert waits == [4, 6, 6]


# Encoding


@pytest.mark.parametrize(
    "configured",
    [
        {},
        {"parallelism": 3, "percentageOfNodesToScore": 40, "clientConnection": {"qps": 7.5, "kubeconfig": "/k"}},
        {
            "profiles": [
                {
                    "schedulerName": "a",
                    "plugins": {
                        "multiPoint": {
                            "enabled": [{"name": "NodeAffinity", "weight": 5}],
                            "disabled": [{"name": "ImageLocality"}],
                        },
                        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 4}]},
                    },
                    "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}}],
                },
                {"schedulerName": "b"},
            ]
        },
        {
            "extenders": [
                {
                    "urlPrefix": "http://x",
                    "prioritizeVerb": "p",
                    "weight": 2,
                    "managedResources": [{"name": "example.com/a"}],
                }
            ]
        },
    ],
)
def test_written_configuration_gives_the_same_settings(tmp_path: Path, configured: Tree) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(yaml.safe_dump({**HEAD, **configured}))
    setup = set_up(config=path)
    written = parse_configuration(encode_configuration(setup))
    assert comparable(written.settings) == comparable(setup.settings)
    assert SchedulerOptions(**written.options, config=path) == setup.options


def comparable(settings: Settings) -> Tree:
    """Return settings as a tree; arguments from a file have ``apiVersion`` and ``kind``, which defaults do not have."""
    tree: Tree = msgspec.json.decode(msgspec.json.encode(settings))
    for profile in tree["profiles"]:
        profile["args"] = {
            name: {key: value for key, value in args.items() if key not in HEAD}
            for name, args in profile["args"].items()
        }
    return tree


def test_written_configuration_has_defaults_and_plugins() -> None:
    written = yaml.safe_load(encode_configuration(set_up()))
    assert (written["apiVersion"], written["kind"], written["parallelism"]) == (HEAD["apiVersion"], HEAD["kind"], 16)
    (profile,) = written["profiles"]
    assert {"name": "TaintToleration", "weight": 3} in profile["plugins"]["multiPoint"]["enabled"]
    assert profile["pluginConfig"][0] == {
        "name": "DefaultPreemption",
        "args": {
            "apiVersion": HEAD["apiVersion"],
            "kind": "DefaultPreemptionArgs",
            "minCandidateNodesAbsolute": 100,
            "minCandidateNodesPercentage": 10,
        },
    }
