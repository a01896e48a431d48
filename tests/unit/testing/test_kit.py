"""The test kit with real clusters: life, state, objects, clock, operators, template."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
import threading
import types
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.processes import wait_for_end

from steersman.asynckit.clock import RealClock
from steersman.client import tree
from steersman.scheduler.out_of_tree import Status
from steersman.testing.errors import ClockError, ClusterError
from steersman.testing.faults import FaultError, LeftoverFaults
from steersman.testing.host.options import ClusterOptionError
from steersman.testing.kit.cluster import Cluster
from steersman.testing.kit.manifests import read_manifests
from steersman.testing.kit.operators import OperatorError, kopf_command
from steersman.testing.kit.report import sections_of
from steersman.testing.kit.servers import close_fork_server
from steersman.testing.kit.template import ClusterTemplate
from steersman.testing.references import BadReference
from steersman.testing.trace import PatternError
from steersman.testing.waiting import WaitError

BARE: dict[str, Any] = {"nodes": 0, "controllers": [], "scheduler": False}
MAPS = tree("v1", "ConfigMap")
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, singular: widget, kind: Widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: first, namespace: default}
"""


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    yield
    close_fork_server()


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """An API server for tests that leave nothing behind."""
    with Cluster(**BARE) as cluster:
        yield cluster


def request(cluster: Cluster, path: str, body: Any = None, method: str = "GET") -> Any:
    headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    new_request = urllib.request.Request(cluster.url + path, data, headers, method=method)
    context = ssl.create_default_context(cafile=str(cluster.ca))
    with urllib.request.urlopen(new_request, context=context, timeout=HANG_SECONDS) as answer:
        return json.load(answer)


def config_map(name: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}}}\n---\n"


def names(cluster: Cluster) -> set[str]:
    listed = request(cluster, "/api/v1/namespaces/default/configmaps")["items"]
    return {item["metadata"]["name"] for item in listed} - {"kube-root-ca.crt"}


def is_refused(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as sock:
        return sock.connect_ex((parts.hostname, parts.port)) != 0


def test_new_cluster_has_a_ready_node_and_one_address():
    with Cluster() as cluster:
        [node] = request(cluster, "/api/v1/nodes")["items"]
        assert {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}["Ready"] == "True"
        created = datetime.fromisoformat(node["metadata"]["creationTimestamp"])
        assert abs(created - cluster.clock.now()) < timedelta(minutes=5)
        service = request(cluster, "/api/v1/namespaces/default/services/kubernetes")
        assert service["spec"]["ports"][0]["targetPort"] == urlsplit(cluster.url).port


class RejectsAll:
    """A scheduler plugin."""

    def __init__(self, args, handle):
        self.reason = args.get("reason", "")

    def filter(self, state, pod, node):
        return Status.unschedulable(self.reason)


def test_scheduler_of_the_cluster_runs_plugins_of_the_test():
    profile = {
        "plugins": {"filter": {"enabled": [{"name": "RejectsAll"}]}},
        "pluginConfig": [{"name": "RejectsAll", "args": {"reason": "closed today"}}],
    }
    config = {"profiles": [profile]}
    with Cluster(clock="virtual", scheduler_plugins={"RejectsAll": RejectsAll}, scheduler_config=config) as cluster:
        cluster.apply(
            "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default},"
            " spec: {containers: [{name: c, image: i}]}}"
        )
        cluster.settle()
        pod = request(cluster, "/api/v1/namespaces/default/pods/p")
    (condition,) = [entry for entry in pod["status"]["conditions"] if entry["type"] == "PodScheduled"]
    assert condition["message"].startswith("0/1 nodes are available: 1 closed today. ")


def test_clusters_of_equal_options_share_no_port_and_no_uid_of_new_objects():
    with Cluster() as one, Cluster() as other:
        ports, uids = set(), set()
        for cluster in (one, other):
            port = urlsplit(cluster.url).port
            endpoints = request(cluster, "/api/v1/namespaces/default/endpoints/kubernetes")
            assert [entry["port"] for subset in endpoints["subsets"] for entry in subset["ports"]] == [port]
            leases = request(cluster, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")["items"]
            identities = [lease for lease in leases if lease["metadata"]["name"].startswith("apiserver-")]
            addresses = [lease["metadata"]["annotations"].popitem() for lease in identities]
            assert [int(address.rpartition(":")[2]) for _, address in addresses] == [port]
            [node] = request(cluster, "/api/v1/nodes")["items"]
            ports |= {port, node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]}
            [stored] = cluster.apply(config_map("own"))
            uids.add(stored["metadata"]["uid"])
    assert (len(ports), len(uids)) == (4, 2)


def test_clusters_of_one_seed_repeat_each_other():
    with Cluster(**BARE, seed=7) as one, Cluster(**BARE, seed=7) as other:
        stored = [cluster.apply(config_map("own"))[0]["metadata"]["uid"] for cluster in (one, other)]
    assert stored[0] == stored[1]


def test_clusters_are_isolated_and_have_tokens_of_their_own(shared):
    with Cluster(**BARE) as other:
        other.apply(config_map("own"))
        assert names(other) == {"own"}
        assert names(shared) == set()
        other.token = shared.token
        with pytest.raises(urllib.error.HTTPError) as refused:
            request(other, "/api/v1/nodes")
        assert refused.value.code == 401
        refused.value.close()


def test_stopped_cluster_leaves_no_process_port_or_file():
    with Cluster(**BARE) as cluster:
        directory = cluster.kubeconfig.parent
    assert wait_for_end(cluster.pid)
    assert is_refused(cluster.url)
    assert not directory.exists()
    for method in (cluster.snapshot, cluster.fork, cluster.crash):
        with pytest.raises(ClusterError, match="the cluster is stopped"):
            method()


def test_killed_cluster_leaves_no_port_or_file_and_fails_only_its_calls(shared):
    cluster = Cluster(**BARE)
    directory = cluster.kubeconfig.parent
    os.kill(cluster.pid, signal.SIGKILL)
    with pytest.raises(ClusterError, match="snapshot: the process of the cluster has ended with code -9"):
        cluster.snapshot()
    assert not directory.exists()
    assert is_refused(cluster.url)
    cluster.stop()
    assert names(shared) == set()


def test_cluster_that_cannot_start_is_an_error_with_its_log():
    with pytest.raises(ClusterError, match="NoSuchGate"):
        Cluster(feature_gates={"NoSuchGate": True})


def test_cluster_with_an_unknown_controller_is_an_error_without_traceback():
    with pytest.raises(ClusterError) as failed:
        Cluster(controllers=["deploymnt"])
    assert str(failed.value).splitlines() == [
        "the cluster did not start: its process has ended with code 1",
        "its log ends with:",
        'controllers: "deploymnt" is not in the list of known controllers',
    ]


def test_command_that_is_text_is_an_error(shared):
    with pytest.raises(ClusterError, match="'sleep 3' is no command: pass a list of the program and its arguments"):
        shared.run_command("sleep 3")


def test_operator_of_a_missing_file_is_an_error(shared, tmp_path):
    with pytest.raises(ClusterError, match=r"there is no file operator\.py to run"):
        shared.run("operator.py", directory=tmp_path)


def test_request_patterns_that_can_match_nothing_are_errors(shared):
    for patterns, message in (
        ({"code": "201"}, "code: expected a number, got '201'"),
        ({"verb": "POST", "resource": "pods"}, 'verb: "POST" is no verb of a request'),
        ({"agent": "kopf"}, 'unknown field "agent" of a request, expected one of: user, user_agent'),
    ):
        with pytest.raises(PatternError, match=message):
            shared.requests(**patterns)


def test_unknown_option_is_an_error():
    with pytest.raises(ClusterOptionError, match="unknown cluster option 'nodez'"):
        Cluster(nodez=1)


def test_crashed_cluster_refuses_connections_until_restarted_with_its_objects():
    with Cluster(**BARE) as cluster:
        cluster.apply(config_map("kept"))
        url = cluster.url
        cluster.crash()
        assert is_refused(url)
        cluster.restart()
        assert cluster.url == url
        assert names(cluster) == {"kept"}


def test_fork_starts_with_the_state_of_its_origin_and_diverges():
    with Cluster(**BARE) as cluster:
        cluster.apply(config_map("common"))
        fork = cluster.fork()
        fork.apply(config_map("forked"))
        cluster.apply(config_map("original"))
        assert (names(fork), names(cluster)) == ({"common", "forked"}, {"common", "original"})
    assert wait_for_end(fork.pid)


def test_rewind_restores_the_state_at_the_same_url_without_repeating_resource_versions():
    with Cluster(**BARE) as cluster:
        before = cluster.snapshot()
        [first] = cluster.apply(config_map("a"))
        cluster.rewind(before)
        assert names(cluster) == set()
        [second] = cluster.apply(config_map("a"))
        assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
        cluster.reset()
        assert names(cluster) == set()


def test_controllers_work_after_a_rewind():
    with Cluster() as cluster:
        before = cluster.snapshot()
        with cluster.namespace():
            pass
        cluster.rewind(before)
        with cluster.namespace() as namespace:
            accounts = request(cluster, f"/api/v1/namespaces/{namespace}/serviceaccounts")["items"]
            assert [account["metadata"]["name"] for account in accounts] == ["default"]


def test_apply_establishes_definitions_before_their_objects(shared):
    with shared.fork() as cluster:
        _, widget = cluster.apply(CRD)
        assert widget["metadata"]["name"] == "first"


def test_apply_reports_the_error_of_the_server(shared):
    with pytest.raises(ClusterError, match=r"metadata\.name: Invalid value"):
        shared.apply(config_map("NoGoodName"))


def test_virtual_time_moves_when_it_is_advanced():
    with Cluster(clock="virtual") as cluster:
        begin = cluster.clock.now()
        assert begin == cluster.clock.now()
        cluster.clock.advance(minutes=1)
        cluster.clock.advance_to(begin + timedelta(minutes=2))
        assert cluster.clock.now() == begin + timedelta(minutes=2)
        with pytest.raises(ClockError, match="time does not go back"):
            cluster.clock.advance(-1)
        with pytest.raises(ClockError, match=r"it is .* already"):
            cluster.clock.advance_to(begin)
        assert request(cluster, "/api/v1/nodes")["items"]


def test_real_time_cannot_be_advanced(shared):
    assert abs(shared.clock.now() - RealClock().now()) < timedelta(minutes=5)
    with pytest.raises(ClockError, match="runs on the system's clock"):
        shared.clock.advance(1)


def test_sqlite_cluster_survives_a_crash_and_has_no_snapshots():
    with Cluster(store="sqlite", **BARE) as cluster:
        cluster.apply(config_map("kept"))
        cluster.crash()
        cluster.restart()
        assert names(cluster) == {"kept"}
        with pytest.raises(ClusterError, match="snapshots need the store in memory"):
            cluster.snapshot()


async def test_coroutines_do_not_block_the_loop(shared):
    with await shared.aio.fork() as cluster:
        await asyncio.gather(cluster.aio.apply(config_map("a")), cluster.aio.apply(config_map("b")))
        async with cluster.client() as client:
            assert {item["metadata"]["name"] for item in await client.list(MAPS, namespace="default")} == {"a", "b"}
        with pytest.raises(AttributeError, match="url is no method"):
            _ = cluster.aio.url


# Waits, observations and faults


def deployment(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_deployment_becomes_available_settles_and_has_a_history(clock):
    with Cluster(clock=clock) as cluster:
        cluster.apply(deployment("web"))
        available = cluster.wait_for("deployment/web", "condition=Available")
        assert available["status"]["readyReplicas"] == 1
        cluster.settle()
        assert [item["type"] for item in cluster.history("deployment/web")][:2] == ["ADDED", "MODIFIED"]
        [created] = cluster.requests(verb="create", resource="replicasets")
        assert created["user_agent"].startswith("kube-controller-manager")
        cluster.assert_no_hot_loop()


@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_eventually_calls_the_predicate_after_changes(clock):
    with Cluster(clock=clock) as cluster:
        cluster.apply(deployment("web"))

        def phases():
            pods = request(cluster, "/api/v1/namespaces/default/pods")["items"]
            assert pods
            return {pod["status"]["phase"] for pod in pods} == {"Running"}

        assert cluster.eventually(phases) is True


def test_wait_that_fails_is_an_assertion_error_with_the_reason(shared):
    with shared.fork() as cluster:
        cluster.apply(config_map("a"))
        with pytest.raises(WaitError, match=r"configmap/a has not reached .* within 0\.1 seconds"):
            cluster.wait_for("configmap/a", "condition=Ready", timeout=0.1)
        with pytest.raises(WaitError, match="the last result is 0"):
            cluster.eventually(lambda: 0, timeout=0.1)
        with pytest.raises(BadReference):
            cluster.wait_for("nonsense/a", "create")
        with pytest.raises(AssertionError, match=r"\d+ writes within"):
            check_during_writes(cluster)


def check_during_writes(cluster):
    """Check for quiet again and again while ConfigMaps are created."""
    is_over = threading.Event()

    def write():
        for number in itertools.count():
            cluster.apply(config_map(f"b{number}"))
            if is_over.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while True:
            cluster.assert_quiet(0.1)
    finally:
        is_over.set()
        writer.join()


def test_fault_acts_on_requests_counts_hits_and_must_be_hit(shared):
    with shared.fork() as cluster:
        fault = cluster.faults.add(verb="get", resource="nodes", respond=500, times=1)
        with pytest.raises(LeftoverFaults, match="respond 500 to get nodes"):
            cluster.faults.check_leftover()
        with pytest.raises(urllib.error.HTTPError) as failed:
            request(cluster, "/api/v1/nodes/none")
        assert failed.value.code == 500
        failed.value.close()
        assert fault.hits == 1
        cluster.faults.check_leftover()
        with pytest.raises(FaultError, match='unknown field "verbs"'):
            cluster.faults.add(verbs="get")


def test_lost_answer_was_committed_and_a_reset_was_not(shared):
    with shared.fork() as cluster:
        path = "/api/v1/namespaces/default/configmaps"
        for respond, name in (("lose-answer", "committed"), ("reset", "refused")):
            cluster.faults.add(verb="create", resource="configmaps", respond=respond, times=1)
            with pytest.raises((OSError, http.client.HTTPException)):
                request(cluster, path, {"metadata": {"name": name}}, "POST")
        assert names(cluster) == {"committed"}


def test_partition_blocks_a_component_until_it_heals():
    with Cluster() as cluster:
        partition = cluster.faults.partition("scheduler")
        cluster.apply(deployment("web"))
        cluster.eventually(lambda: partition.hits)
        [pod] = request(cluster, "/api/v1/namespaces/default/pods")["items"] or [{}]
        assert "nodeName" not in pod.get("spec", {})
        partition.heal()
        cluster.wait_for("deployment/web", "condition=Available")


def test_failed_node_is_noticed_in_virtual_time():
    with Cluster(clock="virtual") as cluster:
        cluster.nodes.fail("node-0")
        cluster.wait_for("node/node-0", "condition=Ready=Unknown", timeout=120)
        cluster.nodes.recover("node-0")
        cluster.wait_for("node/node-0", "condition=Ready", timeout=120)


def test_rights_used_are_those_of_the_user(shared):
    with shared.fork() as cluster:
        names(cluster)
        [rule] = cluster.rights_used("admin")
        assert rule == {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}


# Operators


def test_program_runs_with_the_kubeconfig_and_ends_with_the_cluster():
    with Cluster(**BARE) as cluster:
        script = 'echo "$KUBECONFIG $EXTRA $PWD"; sleep 1000 & echo $!; wait'
        operator = cluster.run_command(["sh", "-c", script], environment={"EXTRA": "more"}, directory=Path("/"))
        wait_for_lines(operator, 2)
        first, child = operator.output.splitlines()
        assert first == f"{cluster.kubeconfig} more /"
        cluster.check_end()
    assert operator.exit_code == -signal.SIGTERM
    assert wait_for_end(int(child))
    operator.check_running()


def wait_for_lines(operator, count):
    while operator.output.count("\n") < count:
        assert operator.exit_code is None, operator.output


def test_operator_that_fails_is_an_error_with_its_output(shared):
    operator = shared.run_command(["sh", "-c", "echo a planted failure; exit 3"])
    operator.wait(HANG_SECONDS)
    with pytest.raises(OperatorError, match=r"ended with exit code 3 before it was stopped\na planted failure"):
        operator.check_running()
    assert operator.stop() == 3
    shared.operators.remove(operator)


def test_program_that_does_not_exist_is_an_error(shared):
    operator = shared.run_command(["/no/such/program"])
    operator.wait(HANG_SECONDS)
    with pytest.raises(OperatorError, match="/no/such/program: No such file or directory"):
        operator.check_running()
    operator.stop()
    shared.operators.remove(operator)


@pytest.mark.parametrize(
    ("operator", "arguments", "end"),
    [
        (Path("a/operator.py"), [], ["-A", "a/operator.py"]),
        ("a/operator.py", ["-n", "x"], ["-n", "x", "a/operator.py"]),
        ("package.operator", ["--dev"], ["-A", "--dev", "-m", "package.operator"]),
        (types.ModuleType("built"), [], None),
        (json, [], ["-A", json.__file__]),
    ],
)
def test_kopf_runs_modules_files_and_names(operator, arguments, end):
    if end is None:
        with pytest.raises(ClusterError, match="built has no file"):
            kopf_command(operator, arguments)
        return
    assert kopf_command(operator, arguments) == [sys.executable, "-m", "kopf", "run", "--standalone", *end]


def test_report_has_events_output_and_nothing_of_a_stopped_cluster():
    with Cluster(**BARE) as cluster:
        event = {
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
            "reason": "Planted",
            "type": "Warning",
            "message": "it broke",
        }
        request(cluster, "/api/v1/namespaces/default/events", event, "POST")
        operator = cluster.run_command(["echo", "hello"])
        assert operator.wait(HANG_SECONDS) == 0
        sections = dict(sections_of(cluster))
    assert "Warning  Planted  default/Pod/web  it broke" in sections["events of the cluster"]
    assert sections["output of echo hello"] == "hello\n"
    assert "create events" in sections["writes to the cluster"]
    assert "the cluster is stopped" in dict(sections_of(cluster))["cluster"]


# Template


def test_template_is_set_up_once_and_forked_by_each_test():
    template = ClusterTemplate(**BARE)
    template.apply(config_map("common"))
    pid = template.pid
    with template.fork() as one, template.fork() as two:
        one.apply(config_map("own"))
        assert (names(one), names(two)) == ({"common", "own"}, {"common"})
    assert wait_for_end(pid)
    with pytest.raises(ClusterError, match="tests have forked it already"):
        template.apply(config_map("late"))
    with pytest.raises(ClusterError, match="it is started already"):
        template.configure(nodes=2)
    template.stop()


def test_unused_template_starts_no_cluster():
    template = ClusterTemplate(**BARE)
    template.configure(clock="virtual")
    with template.fork() as cluster:
        assert cluster.clock.now() == datetime(2026, 1, 1, tzinfo=UTC)
    assert template._cluster is None


def test_virtual_cluster_of_a_template_begins_at_its_time():
    template = ClusterTemplate(**BARE)
    template.apply(config_map("common"))
    with template.fork(clock="virtual") as cluster:
        assert abs(cluster.clock.now() - RealClock().now()) < timedelta(minutes=5)


# Manifests and servers


def test_manifests_are_text_files_and_folders(tmp_path):
    (tmp_path / "b.yaml").write_text(config_map("b"))
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, {"kind": "B"}]}')
    (tmp_path / "notes.txt").write_text("no manifest")
    assert [read_manifest["kind"] for read_manifest in read_manifests(tmp_path)] == ["A", "B", "ConfigMap"]
    assert read_manifests({"apiVersion": "v1", "kind": "A"}) == read_manifests([{"apiVersion": "v1", "kind": "A"}])
    assert read_manifests(str(tmp_path / "b.yaml")) == read_manifests(config_map("b"))


@pytest.mark.parametrize(
    ("manifests", "message"),
    [
        ("no/such/file.yaml", "there is no file or folder no/such/file.yaml"),
        ("a: [", "the manifest is not YAML"),
        ("a: b", "the manifest: a document without apiVersion and kind"),
    ],
)
def test_invalid_manifest_is_an_error(manifests, message):
    with pytest.raises(ClusterError, match=message):
        read_manifests(manifests)


def test_fork_server_is_shared_and_another_follows_a_killed_one():
    """In a process of its own: the clusters of this one must survive."""
    program = textwrap.dedent(
        """
        import os, select, signal
        from steersman.testing import Cluster, ClusterError
        from steersman.testing.kit.servers import close_fork_server, fork_server
        first = fork_server()
        assert fork_server() is first
        process = os.pidfd_open(first.pid)
        os.kill(first.pid, signal.SIGKILL)
        select.select([process], [], [])
        try:
            Cluster(nodes=0, controllers=[], scheduler=False)
        except ClusterError as error:
            assert "the fork server has ended" in str(error), error
        close_fork_server()
        with Cluster(nodes=0, controllers=[], scheduler=False) as cluster:
            print(cluster.url)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("https://127.0.0.1:")


def test_everything_ends_with_a_killed_test_process():
    program = textwrap.dedent(
        """
        import sys
        from steersman.testing.kit.cluster import Cluster
        from steersman.testing.kit.servers import fork_server
        cluster = Cluster(nodes=0, controllers=[], scheduler=False)
        operator = cluster.run_command(["sleep", "1000"])
        print(fork_server().pid, cluster.pid, operator.pid, cluster.kubeconfig.parent, flush=True)
        sys.stdin.read()
        """
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        *pids, directory = process.stdout.readline().split()
        process.kill()
    assert [pid for pid in pids if not wait_for_end(int(pid))] == []
    assert not Path(directory).exists()


_OPERATOR = """\
import json, os, ssl, urllib.request

tls = ssl.create_default_context(cafile=os.environ["CA"])

def send(path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["TOKEN"], "Content-Type": "application/json", "User-Agent": "copier"}
    made = urllib.request.Request(os.environ["URL"] + path, body and json.dumps(body).encode(), headers)
    return urllib.request.urlopen(made, context=tls)

version = "0"
while True:  # the server ends a watch after some time
    for line in send(f"/apis/batch/v1/jobs?watch=1&allowWatchBookmarks=true&resourceVersion={version}"):
        event = json.loads(line)
        version = event["object"]["metadata"]["resourceVersion"]
        if event["type"] == "ADDED":
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": event["object"]["metadata"]["name"]}}
            send("/api/v1/namespaces/default/configmaps", made).read()
"""


def test_virtual_time_waits_for_the_work_of_an_operator_in_another_process():
    job = "{template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}"
    options: dict[str, Any] = {"nodes": 0, "controllers": ["cronjob-controller"], "scheduler": False}
    with Cluster(clock="virtual", quiet_seconds=1.0, **options) as cluster:
        environment = {"TOKEN": cluster.token, "URL": cluster.url, "CA": str(cluster.ca)}
        cluster.run_command([sys.executable, "-c", _OPERATOR], environment=environment)
        cluster.wait_for_request(verb="watch", user_agent="copier")
        cluster.apply(
            "{apiVersion: batch/v1, kind: CronJob, metadata: {name: hourly, namespace: default},"
            f" spec: {{schedule: '0 * * * *', jobTemplate: {{spec: {job}}}}}}}"
        )
        cluster.clock.advance(hours=3)
        copies = request(cluster, "/api/v1/namespaces/default/configmaps")["items"]
        created = [copy["metadata"] for copy in copies if copy["metadata"]["name"].startswith("hourly-")]
        assert sorted(item["creationTimestamp"][11:] for item in created) == ["01:00:00Z", "02:00:00Z", "03:00:00Z"]


def test_negative_quiet_time_is_an_error():
    with pytest.raises(ClusterOptionError, match="quiet_seconds: -1 is negative"):
        Cluster(quiet_seconds=-1.0)


def test_wait_for_a_request_that_is_not_sent_fails(shared):
    with pytest.raises(WaitError, match=r"no request with user_agent='nobody' within 0\.1 seconds"):
        shared.wait_for_request(user_agent="nobody", timeout=0.1)


_WATCHER = """\
import json, os, ssl, urllib.request

path = "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name=late"
made = urllib.request.Request(os.environ["URL"] + path, None, {"Authorization": "Bearer " + os.environ["TOKEN"]})
with urllib.request.urlopen(made, context=ssl.create_default_context(cafile=os.environ["CA"])) as events:
    print(json.loads(events.readline())["type"])
"""


def test_events_of_stale_watches_are_late_for_clients_of_other_processes():
    with Cluster(clock="virtual", **BARE) as cluster:
        environment = {"TOKEN": cluster.token, "URL": cluster.url, "CA": str(cluster.ca)}
        operator = cluster.run_command([sys.executable, "-c", _WATCHER], environment=environment)
        cluster.wait_for_request(verb="watch", user_agent="Python-urllib")
        cluster.faults.stale_reads(30, verb="watch")
        cluster.apply(config_map("late"))
        cluster.clock.advance(29)
        assert operator.exit_code is None
        cluster.clock.advance(2)
        assert operator.wait(HANG_SECONDS) == 0
        assert operator.output == "ADDED\n"


def test_idle_day_of_a_cluster_with_an_endpoint_skips_heartbeats():
    with Cluster(clock="virtual") as cluster:
        cluster.settle()
        before = len(cluster.requests())
        cluster.clock.advance(hours=24)
        assert len(cluster.requests()) - before < 500


WEBHOOK = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: demo}
webhooks:
- name: demo.example.com
  clientConfig: {service: {name: demo, namespace: default, path: /validate}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
  admissionReviewVersions: [v1]
  sideEffects: None
"""


def test_installed_webhooks_lead_to_a_port_that_only_the_operator_gets():
    with Cluster(**BARE) as cluster:
        serving = cluster.install_webhooks(WEBHOOK)
        expected = f"jsonpath={{.webhooks[0].clientConfig.url}}={serving.url}/validate"
        cluster.wait_for("validatingwebhookconfiguration/demo", expected, namespace="")
        with pytest.raises(ClusterError, match="no webhook server listens"):
            serving.wait_until_listening(timeout=0)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(serving.cert_dir / "tls.crt", serving.cert_dir / "tls.key")
        with socket.create_server((serving.host, serving.port)):
            serving.wait_until_listening()
    with socket.create_server((serving.host, serving.port)):
        assert not serving.cert_dir.exists()
