"""Process pods: inputs and statuses of containers, and runs of real processes."""

import asyncio
import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.nodes.expansion import expand
from steersman.nodes.kubelet.host import RequestError, Size
from steersman.nodes.kubelet.log_lines import LogOptions
from steersman.nodes.processes import guard
from steersman.nodes.processes.environment import Sources, command_line, container_environment
from steersman.nodes.processes.fields import ContainerConfigError, field_text, resource_text
from steersman.nodes.processes.files import VolumeFile, inside, link, write_files
from steersman.nodes.processes.host import ProcessHost
from steersman.nodes.processes.http import port_number
from steersman.nodes.processes.log_file import LogFile
from steersman.nodes.processes.pod_worker import PodWorker
from steersman.nodes.processes.process import Guard, Launch, Process
from steersman.nodes.processes.resources import ApiAddress
from steersman.nodes.processes.selection import PROCESS_POD, PROCESS_PODS, is_process_pod
from steersman.nodes.processes.statuses import ContainerFacts, End, Running, Terminated, Waiting, pod_status
from steersman.nodes.processes.volumes import TokenProjection, token_projections, volume_files

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NODE = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "2", "memory": "1Gi"}}}


def pod(*containers, status=None, **spec):
    metadata = {
        "name": "p",
        "namespace": "ns",
        "uid": "u",
        "generation": 1,
        "labels": {"b": "2", "a": "1"},
        "annotations": {"x/y": 'q"'},
    }
    listed = [{"name": f"c{number}", **item} for number, item in enumerate(containers)]
    return {"metadata": metadata, "spec": {"containers": listed, **spec}, "status": status or {}}


def sources(obj=None, config_maps=None, secrets=None):
    return Sources(obj or pod({}), NODE, (config_maps or {}).get, (secrets or {}).get)


# Selection


@pytest.mark.parametrize(
    ("annotation", "label", "is_one"),
    [(None, None, False), ("true", None, True), (None, "true", True), ("false", "true", False)],
)
def test_process_pod_is_selected_by_pod_annotation_or_node_label(annotation, label, is_one):
    body = {"metadata": {"annotations": {PROCESS_POD: annotation} if annotation else {}}}
    assert is_process_pod(body, {"metadata": {"labels": {PROCESS_PODS: label}}}) is is_one


# Inputs of containers


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)-$(B)", "1-$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A $(", "$A $("),
        ("", ""),
    ],
)
def test_expand_replaces_references(text, expanded):
    assert expand(text, {"A": "1"}) == expanded


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("metadata.name", "p"),
        ("metadata.labels", 'a="1"\nb="2"'),
        ("metadata.labels['a']", "1"),
        ("metadata.annotations['x/y']", 'q"'),
        ("metadata.annotations['none']", ""),
        ("status.podIP", "127.0.0.1"),
        ("spec.nodeName", "n"),
    ],
)
def test_field_ref_returns_pod_field(path, text):
    assert field_text(pod({}, nodeName="n"), path) == text


def test_field_ref_rejects_unsupported_path():
    with pytest.raises(ContainerConfigError, match="unsupported fieldPath: spec"):
        field_text(pod({}), "spec.x")


@pytest.mark.parametrize(
    ("resource", "divisor", "text"),
    [
        ("limits.cpu", "", "1"),
        ("limits.cpu", "1m", "500"),
        ("limits.memory", "1Mi", "1024"),
        ("requests.memory", "", "0"),
    ],
)
def test_resource_field_ref_rounds_up_and_defaults_to_allocatable(resource, divisor, text):
    new_pod = pod({"resources": {"limits": {"cpu": "500m"}}})
    reference = {"resource": resource, "divisor": divisor}
    assert resource_text(new_pod, NODE, reference, container="c0") == text


def test_variables_expand_references_to_earlier_variables():
    container = {
        "name": "c",
        "envFrom": [
            {"prefix": "P_", "configMapRef": {"name": "m"}},
            {"secretRef": {"name": "none", "optional": True}},
        ],
        "env": [
            {"name": "A", "value": "$(GIVEN)+$(P_k)"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "none", "optional": True}}},
            {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
        ],
    }
    result = container_environment(container, sources(None, {"m": {"k": b"1"}}, {"s": {"k": b"2"}}), {"GIVEN": "0"})
    assert result == {"GIVEN": "0", "P_k": "1", "A": "0+1", "B": "2", "D": "u"}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"configMapKeyRef": {"name": "none", "key": "k"}}, 'configmap "none" not found'),
        ({"configMapKeyRef": {"name": "m", "key": "no"}}, "couldn't find key no in ConfigMap ns/m"),
        ({"secretKeyRef": {"name": "none", "key": "k"}}, 'secret "none" not found'),
    ],
)
def test_variable_with_missing_source_is_a_config_error(reference, message):
    container = {"name": "c", "env": [{"name": "A", "valueFrom": reference}]}
    with pytest.raises(ContainerConfigError, match=message):
        container_environment(container, sources(None, {"m": {}}), {})


def test_container_without_command_is_a_config_error():
    assert command_line({"name": "c", "command": ["$(A)"], "args": ["$(B)"]}, {"A": "1"}) == ["1", "$(B)"]
    with pytest.raises(ContainerConfigError, match="container c has no command"):
        command_line({"name": "c", "args": ["x"]}, {})


def test_volume_files_of_each_source():
    projected = {
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "m", "items": [{"key": "k", "path": "d/k", "mode": 0o600}]}},
            {"downwardAPI": {"items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ]
    }
    existing = sources(None, {"m": {"k": b"1", "l": b"2"}}, {"s": {"w": b"3"}})
    created = volume_files(
        {"name": "v", "projected": projected}, existing, lambda expected: f"t{expected.expiration_seconds}"
    )
    assert created == {
        "token": VolumeFile(b"t3607", 0o644),
        "d/k": VolumeFile(b"1", 0o600),
        "ns": VolumeFile(b"ns", 0o644),
    }
    assert token_projections({"projected": projected}) == [TokenProjection("", 3607)]
    assert volume_files({"secret": {"secretName": "s", "defaultMode": 0o400}}, existing, str) == {
        "w": VolumeFile(b"3", 0o400)
    }
    assert volume_files({"configMap": {"name": "none", "optional": True}}, existing, str) == {}


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        (
            {"secret": {"secretName": "s", "items": [{"key": "no", "path": "p"}]}},
            "references non-existent secret key: no",
        ),
        ({"name": "v", "nfs": {"path": "/"}}, "volume v is of a kind that process pods cannot have"),
    ],
)
def test_unsupported_volume_is_a_config_error(volume, message):
    with pytest.raises(ContainerConfigError, match=message):
        volume_files(volume, sources(None, {}, {"s": {}}), str)


def test_paths_stay_inside_the_directory(tmp_path):
    assert inside(tmp_path, "/a/../../../etc") == tmp_path / "etc"
    assert inside(tmp_path, "/") == tmp_path


def test_write_files_creates_private_files_and_removes_others(tmp_path):
    folder = tmp_path / "v"
    write_files(folder, {"a": VolumeFile(b"1"), "d/b": VolumeFile(b"2")})
    before = (folder / "a").stat()
    write_files(folder, {"a": VolumeFile(b"1"), "c": VolumeFile(b"3")})
    by_key = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert by_key == {"a": b"1", "c": b"3"}
    assert (folder / "a").stat().st_mtime_ns == before.st_mtime_ns
    assert (folder / "c").stat().st_mode & 0o777 == 0o600
    link(tmp_path / "x" / "y", folder)
    link(tmp_path / "x" / "y", folder)
    assert (tmp_path / "x" / "y" / "c").read_bytes() == b"3"


def test_service_variables_of_the_api_server():
    assert ApiAddress("https://127.0.0.1:6443").variables == {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": "6443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "6443",
    }


# Statuses


def ended(code):
    return Terminated(code, NOW, NOW + timedelta(seconds=1), "id")


@pytest.mark.parametrize(
    ("facts", "is_over", "phase"),
    [
        ([ContainerFacts(), ContainerFacts()], False, "Pending"),
        ([ContainerFacts(Running(NOW, "i")), ContainerFacts()], False, "Pending"),
        ([ContainerFacts(Running(NOW, "i")), ContainerFacts(ended(1))], False, "Running"),
        ([ContainerFacts(Waiting("CrashLoopBackOff"), last=ended(1), restarts=1)], False, "Running"),
        ([ContainerFacts(ended(0)), ContainerFacts(ended(0))], True, "Succeeded"),
        ([ContainerFacts(ended(0)), ContainerFacts(ended(1))], True, "Failed"),
    ],
)
def test_phase_follows_from_container_states(facts, is_over, phase):
    new_pod = pod(*[{} for _ in facts])
    by_key = {f"c{number}": item for number, item in enumerate(facts)}
    status = pod_status(new_pod, by_key, now=NOW, host_ip="h", pod_ip="i", is_over=is_over, end=None)
    assert status["phase"] == phase


def test_container_status_of_a_process_reports_its_volume_mounts():
    new_pod = pod({"volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}]})
    facts = {"c0": ContainerFacts(Running(NOW, "i"))}
    status = pod_status(new_pod, facts, now=NOW, host_ip="h", pod_ip="i", is_over=False, end=None)
    mount = {"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"}
    assert status["containerStatuses"][0]["volumeMounts"] == [mount]


def test_container_status_of_a_process_reports_resources_once_created():
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    new_pod = pod({}, {"resources": resources}, {"resources": resources})
    ended = Terminated(0, NOW, NOW, "i")
    facts = {"c0": ContainerFacts(Running(NOW, "i")), "c1": ContainerFacts(ended), "c2": ContainerFacts(Waiting("x"))}
    status = pod_status(new_pod, facts, now=NOW, host_ip="h", pod_ip="i", is_over=False, end=None)
    first, second, third = status["containerStatuses"]
    assert (first["resources"], "allocatedResources" in first) == ({}, False)
    assert (second["resources"], second["allocatedResources"]) == (resources, {"cpu": "1"})
    assert not {"resources", "allocatedResources"} & third.keys()


def test_pod_is_ready_when_all_containers_are():
    new_pod = pod({}, {})
    facts = {
        "c0": ContainerFacts(Running(NOW, "i"), ready=True, started=True),
        "c1": ContainerFacts(Running(NOW, "j"), started=True),
    }
    status = pod_status(new_pod, facts, now=NOW, host_ip="h", pod_ip="i", is_over=False, end=None)
    conditions = {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in status["conditions"]
    }
    unready = ("False", "ContainersNotReady", "containers with unready status: [c1]")
    assert (conditions["Ready"], conditions["ContainersReady"], conditions["Initialized"][0]) == (
        unready,
        unready,
        "True",
    )
    facts["c1"].ready = True
    status = pod_status(new_pod, facts, now=NOW, host_ip="h", pod_ip="i", is_over=False, end=None)
    assert {condition["type"]: condition["status"] for condition in status["conditions"]}["Ready"] == "True"


# Logs


async def shown(log, **options):
    return b"".join([piece async for piece in log.read(LogOptions(**options))])


async def test_log_file_writes_complete_lines_and_the_last_partial_line(tmp_path):
    log = LogFile(tmp_path / "0.log", clock=FakeClock())
    log.write(b"one\ntw")
    log.write(b"err\n", error=True)
    assert await shown(log) == b"one\nerr\n"
    log.write(b"o\nrest")
    log.close()
    assert await shown(log) == b"one\nerr\ntwo\nrest"
    assert await shown(log, stream="Stderr") == b"err\n"
    assert await shown(log, limit_bytes=5) == b"one\ne"


async def test_followed_log_ends_when_it_is_closed(tmp_path):
    log = LogFile(tmp_path / "0.log", clock=FakeClock())
    log.write(b"one\n")
    following = asyncio.create_task(shown(log, follow=True, tail_lines=0))
    await asyncio.wait([following], timeout=0)
    log.write(b"two\n")
    log.close()
    assert await following == b"two\n"


async def test_long_log_is_rotated(tmp_path, monkeypatch):
    monkeypatch.setattr("steersman.nodes.processes.log_file.FILE_BYTES_MAX", 100)
    log = LogFile(tmp_path / "0.log", clock=FakeClock())
    for number in range(6):
        log.write(b"%d\n" % number)
    log.close()
    assert (await shown(log)).endswith(b"4\n5\n")
    assert {path.name for path in tmp_path.iterdir()} == {"0.log", "0.old"}


# Probes


@pytest.mark.parametrize(("port", "number"), [(80, 80), ("web", 8080), ("81", 81), ("none", 0)])
def test_probe_port_by_number_or_name(port, number):
    assert port_number(port, {"ports": [{"name": "web", "containerPort": 8080}]}) == number


# Processes


@pytest.fixture
def watch():
    new_guard = Guard()
    yield new_guard
    new_guard.close()


def launch(folder, *words, **variables):
    return Launch(words, {"PATH": os.environ["PATH"], **variables}, folder)


async def test_process_returns_output_and_exit_code(tmp_path, watch):
    received = []

    async def sink(data, error):
        received.append((data, error))

    process = await Process.start(launch(tmp_path, "sh", "-c", "echo $A; pwd >&2; exit 3", A="x"), guard=watch)
    assert await process.wait(sink) == 3
    assert sorted(received) == sorted([(b"x\n", False), (f"{tmp_path}\n".encode(), True)])


async def test_process_killed_by_a_signal_exits_with_128_plus_its_number(tmp_path, watch):
    process = await Process.start(launch(tmp_path, "sleep", "100"), guard=watch)
    process.signal(signal.SIGTERM)
    assert await process.wait(print) == 143


async def test_process_with_a_terminal(tmp_path, watch):
    received = []

    async def sink(data, error):
        received.append(data)

    process = await Process.start(launch(tmp_path, "sh", "-c", "read a; stty size; echo $a"), guard=watch, tty=True)
    process.resize(width=81, height=25)
    await process.write(b"hello\n")
    assert await process.wait(sink) == 0
    assert b"".join(received).replace(b"\r", b"").endswith(b"25 81\nhello\n")


async def test_process_start_raises_oserror_for_a_missing_command(tmp_path, watch):
    with pytest.raises(FileNotFoundError):
        await Process.start(launch(tmp_path, "no-such-command"), guard=watch)


async def test_guard_kills_remaining_groups_when_its_input_ends(tmp_path):
    write_files(tmp_path / "folder", {"a": VolumeFile(b"")})
    running = await asyncio.create_subprocess_exec("sleep", "100", start_new_session=True)
    spared = await asyncio.create_subprocess_exec("sleep", "100", start_new_session=True)
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", guard.__file__, str(tmp_path / "folder"), stdin=asyncio.subprocess.PIPE
    )
    await program.communicate(f"+{running.pid}\n+{spared.pid}\n-{spared.pid}\n".encode())
    assert await running.wait() == -signal.SIGKILL
    assert not (tmp_path / "folder").exists()
    assert spared.returncode is None
    spared.kill()
    await spared.wait()


# Containers and pods


class FakeContext:
    """Container context without a cluster."""

    def __init__(self, folder, watch):
        self.clock = RealClock()
        self.guard = watch
        self.folder = folder
        self.missing = ""
        self.events = []

    async def launch(self, container):
        if self.missing:
            raise ContainerConfigError(self.missing)
        return launch(self.folder, *container["command"])

    def log_path(self, container, run):
        return self.folder / f"{container}-{run}.log"

    def describe(self, container):
        return f"container={container}"

    def event(self, kind, reason, message, *, container):
        self.events.append(f"{kind} {reason} {message}")

    def grace_seconds(self):
        return 30.0

    def termination_message(self, container, *, code, log):
        return f"{code}: {log.decode().strip()}" if container.get("terminationMessagePolicy") else ""


class RunningPod:
    """Running pod worker, with a wait for its status."""

    def __init__(self, obj, context):
        self.pod = obj
        self.changed = asyncio.Event()
        self.context = context
        self.life = PodWorker(obj, context, changed=self.changed.set)
        self.task = asyncio.create_task(self.life.run())

    def status(self):
        return self.life.status(self.pod, host_ip="h", pod_ip="i")

    async def until(self, holds):
        async with asyncio.timeout(HANG_SECONDS):
            while not holds(self.status()):
                await self.changed.wait()
                self.changed.clear()
        return self.status()

    async def close(self):
        await self.life.stop(0)
        await self.task
        await self.life.close()


@pytest.fixture
async def begin(tmp_path, watch):
    started = []

    def start(obj):
        started.append(RunningPod(obj, FakeContext(tmp_path, watch)))
        return started[-1]

    yield start
    for item in started:
        await item.close()


def sh(script, **more):
    return {"command": ["sh", "-c", script], **more}


def state(status, number=0, kind="containerStatuses"):
    return status[kind][number]["state"]


async def test_pod_runs_to_completion(begin):
    living = begin(pod(sh("exit 0"), sh("exit 2"), restartPolicy="Never"))
    status = await living.until(lambda status: status["phase"] == "Failed")
    assert [state(status, number)["terminated"]["exitCode"] for number in (0, 1)] == [0, 2]


async def test_first_restart_is_immediate_and_the_second_backs_off(begin):
    living = begin(pod(sh("exit 2"), restartPolicy="OnFailure"))
    status = await living.until(lambda status: "CrashLoopBackOff" in str(state(status)))
    assert state(status)["waiting"]["message"] == "back-off 10s restarting failed container=c0"
    assert status["containerStatuses"][0]["restartCount"] == 1
    assert status["phase"] == "Running"
    started = "Normal Started Container started"
    assert living.context.events == [started, started, "Warning BackOff Back-off restarting failed container=c0"]


@pytest.mark.parametrize(
    ("code", "phase", "restarts"), [(42, "Running", 1), (1, "Failed", 0)], ids=["rule", "policy of the container"]
)
async def test_rule_of_a_container_comes_before_its_policy_and_that_before_the_pods(begin, code, phase, restarts):
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    container = sh(f"exit {code}", restartPolicy="Never", restartPolicyRules=[rule])
    living = begin(pod(container, restartPolicy="Always"))
    await living.until(
        lambda status: (status["phase"], status["containerStatuses"][0]["restartCount"]) == (phase, restarts)
    )


async def test_init_containers_run_first_and_a_failure_fails_the_pod(begin, tmp_path):
    first = {"name": "i", **sh("echo x > said")}
    living = begin(pod(sh("cat said"), restartPolicy="Never", initContainers=[first]))
    await living.until(lambda status: status["phase"] == "Succeeded")
    living = begin(pod(sh("exit 0"), restartPolicy="Never", initContainers=[{**first, **sh("exit 1")}]))
    status = await living.until(lambda status: status["phase"] == "Failed")
    assert "waiting" in state(status)


async def test_sidecar_terminates_after_the_main_containers(begin):
    side = {"name": "s", "restartPolicy": "Always", **sh("sleep 100")}
    living = begin(pod(sh("exit 0"), restartPolicy="Never", initContainers=[side]))
    status = await living.until(lambda status: status["phase"] == "Succeeded")
    assert state(status, 0, "initContainerStatuses")["terminated"]["exitCode"] == 143


async def test_missing_command_is_a_start_error(begin):
    living = begin(pod({"command": ["no-such-command"]}, restartPolicy="Never"))
    status = await living.until(lambda status: status["phase"] == "Failed")
    ended = state(status)["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert ended["message"] == 'exec: "no-such-command": no such file or directory'


async def test_containers_wait_as_initializing_until_init_containers_are_done(begin):
    first = {"name": "i", **sh("sleep 100")}
    living = begin(pod(sh("exit 0"), restartPolicy="Never", initContainers=[first]))
    status = await living.until(lambda status: "running" in state(status, 0, "initContainerStatuses"))
    assert state(status) == {"waiting": {"reason": "PodInitializing"}}


async def test_failing_poststart_hook_ends_the_container(begin):
    hook = {"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "exit 3"]}}}}
    living = begin(pod(sh("sleep 100", **hook), restartPolicy="Never"))
    status = await living.until(lambda status: status["phase"] == "Failed")
    assert state(status)["terminated"]["exitCode"] == 137
    message = "PostStartHook failed: command 'sh -c exit 3' exited with 3: "
    assert f"Warning FailedPostStartHook {message}" in living.context.events


async def test_container_is_ready_after_its_poststart_hook(begin, tmp_path):
    script = f"until [ -e {tmp_path}/go ]; do sleep 0.02; done"
    hook = {"lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", script]}}}}
    living = begin(pod(sh("sleep 100", **hook)))
    status = await living.until(lambda status: "running" in state(status))
    assert status["containerStatuses"][0]["ready"] is False
    (tmp_path / "go").touch()
    await living.until(lambda status: status["containerStatuses"][0]["ready"])


async def test_terminated_container_has_the_contexts_message(begin):
    living = begin(pod(sh("echo bad; exit 2", terminationMessagePolicy="FallbackToLogsOnError"), restartPolicy="Never"))
    status = await living.until(lambda status: status["phase"] == "Failed")
    assert state(status)["terminated"]["message"] == "2: bad"


async def test_pod_fails_after_its_active_deadline(begin):
    living = begin(pod(sh("sleep 100"), activeDeadlineSeconds=0))
    status = await living.until(lambda status: status["phase"] == "Failed")
    assert status["reason"] == "DeadlineExceeded"


async def test_pod_fails_with_its_reason_after_its_containers_have_ended(begin):
    living = begin(pod(sh("trap 'sleep 0.3; exit 0' TERM; echo up; while true; do sleep 0.02; done")))
    await living.until(lambda status: "running" in state(status))
    ending = asyncio.create_task(living.life.fail(End("Preempting", "why", "because")))
    while not ending.done():
        status = living.status()
        assert status["phase"] == "Running" or "terminated" in state(status)
        await asyncio.wait([ending], timeout=0.02)
    status = living.status()
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Preempting", "why")
    (disrupted,) = [condition for condition in status["conditions"] if condition["type"] == "DisruptionTarget"]
    assert (disrupted["reason"], disrupted["message"]) == ("TerminationByKubelet", "because")


async def test_config_error_is_retried_until_the_pod_is_stopped(tmp_path, watch):
    context = FakeContext(tmp_path, watch)
    context.missing = 'secret "s" not found'
    living = RunningPod(pod(sh("exit 0")), context)
    status = await living.until(lambda status: "Creating" not in str(state(status)))
    assert state(status)["waiting"] == {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}
    async with asyncio.timeout(HANG_SECONDS):
        await living.close()


async def test_stop_runs_prestop_hook_then_sigterm_then_sigkill(begin, tmp_path):
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook > hooked"]}}}
    stubborn = sh("trap 'touch termed' TERM; touch up; while true; do sleep 0.05; done", lifecycle=hook)
    ready = {"exec": {"command": ["test", "-e", "up"]}, "periodSeconds": 1}
    living = begin(pod({**stubborn, "readinessProbe": ready}))
    await living.until(lambda status: status["containerStatuses"][0]["ready"])
    living.context.clock = clock = FakeClock()
    stopping = asyncio.create_task(living.life.stop(30))
    while not (tmp_path / "termed").exists():
        await asyncio.wait([stopping], timeout=0.02)
    await clock.advance(30)
    await stopping
    assert state(living.status())["terminated"]["exitCode"] == 137
    assert (tmp_path / "hooked").read_text() == "hook\n"


async def test_failing_liveness_probe_restarts_the_container(begin):
    dead = {"exec": {"command": ["false"]}, "periodSeconds": 1, "timeoutSeconds": HANG_SECONDS, "failureThreshold": 1}
    living = begin(pod(sh("sleep 100", livenessProbe=dead)))
    status = await living.until(lambda status: status["containerStatuses"][0]["restartCount"] == 1)
    assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 143
    assert living.context.events[1:3] == [
        "Warning Unhealthy Liveness probe failed: ",
        "Normal Killing Container c0 failed liveness probe, will be restarted",
    ]


@pytest.mark.parametrize(("policy", "phase", "restarts"), [("OnFailure", "Running", 1), ("Never", "Succeeded", 0)])
async def test_restart_policy_counts_an_exit_caused_by_the_liveness_probe_as_failure(begin, policy, phase, restarts):
    dead = {
        "exec": {"command": ["test", "!", "-e", "up"]},
        "periodSeconds": 1,
        "timeoutSeconds": HANG_SECONDS,
        "failureThreshold": 1,
    }
    graceful = sh("trap 'exit 0' TERM; touch up; while true; do sleep 0.05; done", livenessProbe=dead)
    living = begin(pod(graceful, restartPolicy=policy))
    phases = []

    def has_ended(status):
        phases.append(status["phase"])
        (container,) = status["containerStatuses"]
        ended = {**container["lastState"], **container["state"]}.get("terminated") or {}
        return (phases[-1], container["restartCount"], ended.get("exitCode")) == (phase, restarts, 0)

    await living.until(has_ended)
    assert set(phases) <= {"Pending", "Running", phase}


async def test_failing_startup_probe_runs_the_prestop_hook_and_restarts_the_container(begin, tmp_path):
    late = {
        "exec": {"command": ["sh", "-c", "echo not yet; exit 1"]},
        "periodSeconds": 1,
        "timeoutSeconds": HANG_SECONDS,
        "failureThreshold": 1,
    }
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook > hooked"]}}}
    living = begin(pod(sh("sleep 100", startupProbe=late, lifecycle=hook)))
    await living.until(lambda status: status["containerStatuses"][0]["restartCount"] == 1)
    assert (tmp_path / "hooked").read_text() == "hook\n"
    assert living.context.events[1:3] == [
        "Warning Unhealthy Startup probe failed: not yet\n",
        "Normal Killing Container c0 failed startup probe, will be restarted",
    ]


async def test_containers_of_an_earlier_process_are_reported_as_killed(begin):
    running = {"name": "c0", "restartCount": 4, "state": {"running": {"startedAt": "2026-01-02T03:04:05Z"}}}
    new_pod = pod(sh("exit 0"), restartPolicy="Never", status={"containerStatuses": [running]})
    status = await begin(new_pod).until(lambda status: status["phase"] == "Failed")
    assert state(status)["terminated"]["reason"] == "ContainerStatusUnknown"


# Kubelet API


class Streams:
    def __init__(self, *pieces, tty=False):
        self.pieces, self.tty, self.wants_stdin = list(pieces), tty, bool(pieces)
        self.output, self.errors = b"", b""

    async def read(self):
        return self.pieces.pop(0) if self.pieces else b""

    async def write(self, piece, *, error=False):
        if error:
            self.errors += piece
        else:
            self.output += piece

    async def next_size(self):
        return Size(10, 5)


async def test_logs_exec_and_attach_of_a_process(begin, watch):
    new_pod = pod(sh("echo up; cat; exit 5", stdin=True), restartPolicy="Never")
    living = begin(new_pod)
    host = ProcessHost({"u": living.life}, watch, concerns=lambda _: False)
    assert host.has(new_pod)
    await living.until(lambda status: status["phase"] == "Running")
    streams = Streams(b"in")
    assert await host.execute(new_pod, "c0", ["sh", "-c", "cat; echo err >&2; exit 4"], streams) == 4
    assert (streams.output, streams.errors) == (b"in", b"err\n")
    attached = Streams(b"hello\n")
    await host.attach(new_pod, "c0", attached)
    assert attached.output.endswith(b"hello\n")
    output = b"".join([piece async for piece in host.logs(new_pod, "c0", LogOptions(follow=True))])
    assert output == b"up\nhello\n"
    with pytest.raises(RequestError, match="container not found"):
        await host.execute(new_pod, "c0", ["ls"], Streams())
    with pytest.raises(RequestError, match='previous terminated container "c0" in pod "p" not found'):
        await anext(host.logs({**new_pod, "status": living.status()}, "c0", LogOptions(previous=True)))


async def test_log_of_an_earlier_process_is_unavailable(watch):
    host = ProcessHost({}, watch, concerns=lambda _: True)
    new_pod = pod({}, status={"containerStatuses": [{"name": "c0", "containerID": "process://u/c0/1"}]})
    assert host.has(new_pod)
    with pytest.raises(RequestError, match="unable to retrieve container logs for process://u/c0/1"):
        await anext(host.logs(new_pod, "c0", LogOptions()))


def test_guard_imports_only_the_standard_library():
    assert "steersman" not in Path(guard.__file__).read_text()
