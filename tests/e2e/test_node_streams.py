"""kubectl, and a Python client, against pods: logs, exec, attach and port-forward, of simulated pods and of processes."""

import contextlib
import json
import os
import pty
import re
import secrets
import select
import shutil
import socket
import subprocess
import sys
import termios
import time
import urllib.request
from pathlib import Path

import pytest
import yaml
from scripts.ports import free_port
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl
from tests.e2e.watching import Ending, line_with, named, until, until_one

from steersman.testing import ControlPlane

PROCESS = {"nodes.steersman.dev/process-pod": "true"}
SERVER = ["python", "-u", "-m", "http.server", "--bind", "127.0.0.1"]


@pytest.fixture(scope="module")
def whole():
    """Everything, with process pods."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on this machine")
    with ControlPlane(whole=True, arguments=["--process-pods"]) as started:
        yield started


@pytest.fixture
def kubectl(whole, tmp_path):
    namespace = f"test-{secrets.token_hex(4)}"
    new_kubectl = Kubectl(whole, tmp_path)
    new_kubectl.run("create", "namespace", namespace)
    new_kubectl.namespace = namespace
    until(whole, path(new_kubectl, "serviceaccounts"), named("default"))
    return new_kubectl


@pytest.fixture(params=["websocket", "spdy"])
def streaming(request, kubectl):
    """kubectl that streams over the transport of new clients, or over that of client-go before 1.31."""
    if request.param == "spdy":
        without = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"}
        kubectl.environment.update(without)
    return kubectl


def path(kubectl, resource):
    """Return the path of a collection or object of the core group in the namespace."""
    return f"/api/v1/namespaces/{kubectl.namespace}/{resource}"


def pod(name="p", command=(), annotations=PROCESS, container=None, **spec):
    one = {"name": "c", "image": "i", "command": list(command), **(container or {})}
    spec = {"terminationGracePeriodSeconds": 2, "containers": [one], **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": spec,
    }


def run(kubectl, obj, condition="condition=Ready"):
    """Make a pod, and wait until it is so."""
    kubectl.run("apply", "-f", "-", stdin=json.dumps(obj))
    kubectl.run("wait", f"--for={condition}", f"pod/{obj['metadata']['name']}", f"--timeout={HANG_SECONDS}s")


def ended(kubectl, obj):
    run(kubectl, obj, condition="jsonpath={.status.containerStatuses[0].state.terminated}")


def succeeds(kubectl):
    kubectl.run("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/p", f"--timeout={HANG_SECONDS}s")


# Simulated pods


def test_simulated_pod_logs_its_annotations(kubectl):
    texts = {"logs": "one\ntwo {pod}\n", "exec-output": "hi {container}\n", "exec-code": "3"}
    run(kubectl, pod(annotations={f"nodes.steersman.dev/{name}": text for name, text in texts.items()}))
    assert kubectl.run("logs", "p") == "one\ntwo p\n"
    assert kubectl.run("logs", "p", "--tail=1") == "two p\n"
    assert kubectl.run("logs", "p", "--limit-bytes=2") == "on"
    assert "hi c\n" in kubectl.run("exec", "p", "--", "anything", code=3)


def test_simulated_pod_logs_its_name_by_default(kubectl):
    run(kubectl, pod(annotations={}))
    assert kubectl.run("logs", "p") == "p: c is simulated\n"
    assert kubectl.run("exec", "p", "--", "ls") == "p: c is simulated\n"
    refused = kubectl.run("logs", "p", "--previous", code=1)
    assert 'Error from server (BadRequest): previous terminated container "c" in pod "p" not found' in refused


def test_waiting_container_has_no_log(kubectl):
    source = {"configMapRef": {"name": "none"}}
    kubectl.run("apply", "-f", "-", stdin=json.dumps(pod(annotations={}, container={"envFrom": [source]})))
    kubectl.run(
        "wait", "--for=jsonpath={.status.containerStatuses[0].state.waiting}", "pod/p", f"--timeout={HANG_SECONDS}s"
    )
    refused = kubectl.run("logs", "p", code=1)
    assert 'container "c" in pod "p" is waiting to start: CreateContainerConfigError' in refused


def test_node_proxy_reaches_the_kubelet(kubectl):
    run(kubectl, pod(annotations={}))
    assert kubectl.run("get", "--raw", "/api/v1/nodes/node-0/proxy/healthz") == "ok"
    listed = json.loads(kubectl.run("get", "--raw", "/api/v1/nodes/node-0/proxy/pods"))
    assert "p" in [item["metadata"]["name"] for item in listed["items"]]


# Process pods


def test_logs_follow_a_process_to_its_end(kubectl, tmp_path):
    command = "echo one; until [ -e $STEERSMAN_ROOT/work/go ]; do sleep 0.1; done; echo two >&2"
    work = {"name": "work", "hostPath": {"path": str(tmp_path)}}
    new_pod = pod(command=["sh", "-c", command], restartPolicy="Never", volumes=[work])
    new_pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "work", "mountPath": "/work"}]
    run(kubectl, new_pod)
    with kubectl.start("logs", "-f", "p") as following:
        assert following.stdout.readline() == "one\n"
        (tmp_path / "go").touch()  # not by a command in the container, which may be killed by the container's end
        assert following.communicate(timeout=HANG_SECONDS)[0] == "two\n"
    stamped = kubectl.run("logs", "p", "--timestamps").splitlines()
    assert [line.split("Z ")[1] for line in stamped] == ["one", "two"]
    assert kubectl.run("logs", "p", "--tail=1") == "two\n"
    succeeds(kubectl)


def backing_off(pod):
    """Return the container status during restart backoff; None otherwise."""
    (reported,) = (pod or {}).get("status", {}).get("containerStatuses") or ({"state": {}},)
    return reported if (reported["state"].get("waiting") or {}).get("reason") == "CrashLoopBackOff" else None


def test_failed_container_is_restarted_with_its_previous_log(kubectl):
    kubectl.run("apply", "-f", "-", stdin=json.dumps(pod(command=["sh", "-c", "echo run; exit 3"])))
    status = until_one(kubectl.cluster, path(kubectl, "pods/p"), backing_off)
    assert status["restartCount"] >= 1  # of a later backoff, if the watch came too late for the first one
    assert status["lastState"]["terminated"]["exitCode"] == 3
    assert kubectl.run("logs", "p", "--previous") == "run\n"


def test_exec_runs_in_the_containers_environment_and_returns_the_exit_code(streaming):
    streaming.run("create", "configmap", "settings", "--from-literal=color=blue")
    streaming.run("create", "secret", "generic", "hidden", "--from-literal=word=open")
    new_pod = pod(
        command=["sleep", "3600"],
        container={
            "env": [
                {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}},
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "BOTH", "value": "$(NAME)-$(COLOR)"},
            ],
            "envFrom": [{"secretRef": {"name": "hidden"}}],
            "volumeMounts": [{"name": "v", "mountPath": "/etc/settings"}],
        },
        volumes=[{"name": "v", "configMap": {"name": "settings"}}],
    )
    run(streaming, new_pod)
    script = "echo $BOTH $word $(cat $STEERSMAN_ROOT/etc/settings/color); exit 7"
    reported = streaming.run("exec", "p", "--", "sh", "-c", script, code=7)
    assert reported.startswith("p-blue open blue\n")
    assert "command terminated with exit code 7" in reported
    assert streaming.run("exec", "-i", "p", "--", "cat", stdin="through and back") == "through and back"
    large = "x" * 300_000
    assert streaming.run("exec", "-i", "p", "--", "cat", stdin=large) == large
    assert streaming.run("exec", "p", "--", "sh", "-c", "echo out; echo err >&2") == "out\n"
    assert "no such file or directory" in streaming.run("exec", "p", "--", "no-such-command", code=1)


def test_attach_streams_new_output(streaming):
    run(streaming, pod(command=["cat"], container={"stdin": True}))
    attached = subprocess.Popen(
        streaming.command("attach", "-i", "p"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=streaming.environment,
    )
    output, _ = attached.communicate("hello\n", timeout=HANG_SECONDS)
    assert "hello\n" in output


def test_exec_ends_while_its_input_is_open(streaming):
    run(streaming, pod(command=["sleep", "3600"]))
    command = subprocess.Popen(
        streaming.command("exec", "-i", "p", "--", "head", "-c", "3"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=streaming.environment,
    )
    with command:
        command.stdin.write(b"abcdef")
        command.stdin.flush()
        assert command.stdout.read() == b"abc"
        assert command.wait(HANG_SECONDS) == 0


def test_files_are_copied_both_ways(streaming, tmp_path):
    run(streaming, pod(command=["sleep", "3600"]))
    remote_path = f"/tmp/{secrets.token_hex(8)}"  # the pod's own folder, or the host's
    (tmp_path / "large").write_bytes(secrets.token_bytes(2_000_000))
    streaming.run("cp", str(tmp_path / "large"), f"p:{remote_path}")
    streaming.run("cp", f"p:{remote_path}", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == (tmp_path / "large").read_bytes()
    streaming.run("exec", "p", "--", "rm", remote_path)


def test_port_forward_reports_that_no_process_listens(streaming):
    run(streaming, pod(command=["sleep", "3600"]))
    port, local = free_port(), free_port()
    forwarding = subprocess.Popen(
        streaming.command("port-forward", "pod/p", f"{local}:{port}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=streaming.environment,
    )
    with forwarding:
        assert "Forwarding from" in forwarding.stdout.readline()
        with socket.create_connection(("127.0.0.1", local), timeout=HANG_SECONDS) as connection:
            assert connection.recv(1) == b""
        assert f"error forwarding port {port} to pod p, uid " in forwarding.stderr.readline()
        forwarding.terminate()


def test_port_forward_reaches_a_process_pod(streaming):
    port, local = free_port(), free_port()
    probe = {"tcpSocket": {"port": port}, "periodSeconds": 1}
    run(streaming, pod(command=[*SERVER, str(port)], container={"readinessProbe": probe}))
    with streaming.start("port-forward", "pod/p", f"{local}:{port}") as forwarding:
        assert "Forwarding from" in forwarding.stdout.readline()
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{local}/", timeout=HANG_SECONDS) as answer:
                assert b"Directory listing" in answer.read()
    assert '"GET / HTTP/1.1" 200' in streaming.run("logs", "p")


def test_pod_and_service_proxy_reach_a_process_pod(kubectl):
    port = free_port()
    probe = {"tcpSocket": {"port": port}, "periodSeconds": 1}
    new_pod = pod(command=[*SERVER, str(port)], container={"readinessProbe": probe, "ports": [{"containerPort": port}]})
    new_pod["metadata"]["labels"] = {"app": "p"}
    run(kubectl, new_pod)
    kubectl.run("expose", "pod", "p", "--port=80", f"--target-port={port}")
    for target in (f"pods/p:{port}", "pods/p"):
        page = kubectl.run("get", "--raw", path(kubectl, f"{target}/proxy/?from=here"))
        assert "Directory listing" in page
    until(kubectl.cluster, path(kubectl, "endpoints"), lambda objects: any(item.get("subsets") for item in objects))
    assert "Directory listing" in kubectl.run("get", "--raw", path(kubectl, "services/p:80/proxy/"))
    assert "NotFound" in kubectl.run("get", "--raw", path(kubectl, "pods/p/proxy/no-such-file"), code=1)
    assert '"GET /?from=here HTTP/1.1" 200' in kubectl.run("logs", "p")


def test_proxy_reports_a_missing_listener(kubectl):
    run(kubectl, pod("simulated", annotations={}))
    run(kubectl, pod("process", ["sleep", "3600"]))
    port = free_port()
    output = kubectl.run("get", "--raw", path(kubectl, f"pods/simulated:{port}/proxy/"), code=1)
    message = f"connect: connection refused: pod simulated is simulated: no process listens on port {port}"
    assert re.search(rf"error trying to reach service: dial tcp 10\.[\d.]+:{port}: {message}", output)
    output = kubectl.run("get", "--raw", path(kubectl, f"pods/process:{port}/proxy/"), code=1)
    assert re.search(
        rf"error trying to reach service: dial tcp 10\.[\d.]+:{port}: connect: connection refused$", output
    )


def test_pod_ends_by_sigterm_or_after_its_grace_period(kubectl):
    stubborn = "trap '' TERM; echo ready; while true; do sleep 1; done"
    polite = "trap 'echo bye; exit 0' TERM; echo ready; while true; do sleep 0.1; done"
    run(kubectl, pod("stubborn", ["sh", "-c", stubborn]))
    run(kubectl, pod("polite", ["sh", "-c", polite]))
    with kubectl.start("logs", "-f", "stubborn") as trapping:
        assert trapping.stdout.readline() == "ready\n"
    with kubectl.start("logs", "-f", "polite") as following:
        assert following.stdout.readline() == "ready\n"
        started_at = time.monotonic()
        kubectl.run("delete", "pod", "stubborn", "polite", f"--timeout={HANG_SECONDS}s")
        assert time.monotonic() - started_at > 1.5
        assert "bye\n" in following.communicate(timeout=HANG_SECONDS)[0]


def test_init_containers_and_sidecars_run_in_order(kubectl):
    new_pod = pod(command=["sh", "-c", "cat $STEERSMAN_ROOT/work/said"], restartPolicy="Never")
    mount = [{"name": "work", "mountPath": "/work"}]
    new_pod["spec"]["containers"][0]["volumeMounts"] = mount
    new_pod["spec"]["volumes"] = [{"name": "work", "emptyDir": {}}]
    first = {"name": "first", "command": ["sh", "-c", "echo from the first > $STEERSMAN_ROOT/work/said"]}
    side = {"name": "side", "command": ["sleep", "3600"], "restartPolicy": "Always"}
    new_pod["spec"]["initContainers"] = [{"image": "i", "volumeMounts": mount, **item} for item in (first, side)]
    ended(kubectl, new_pod)
    assert kubectl.run("logs", "p", "-c", "c") == "from the first\n"
    succeeds(kubectl)


def test_kopf_operator_runs_as_a_process_pod(kubectl):
    operator = Path(__file__).parent / "rounds" / "kopf_operator.py"
    rules = [
        {"apiGroups": [""], "resources": ["configmaps", "events"], "verbs": ["*"]},
    ]
    meta = {"name": "operator"}
    account = {"kind": "ServiceAccount", "name": "default", "namespace": kubectl.namespace}
    command = ["python", "-m", "kopf", "run", str(operator), "--namespace", kubectl.namespace, "--standalone"]
    documents = [
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta, "rules": rules},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator"},
            "subjects": [account],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {
                "selector": {"matchLabels": {"app": "operator"}},
                "template": {
                    "metadata": {"labels": {"app": "operator"}, "annotations": PROCESS},
                    "spec": {"containers": [{"name": "kopf", "image": "i", "command": command}]},
                },
            },
        },
    ]
    kubectl.run("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
    kubectl.run("rollout", "status", "deployment/operator", f"--timeout={HANG_SECONDS}s")
    kubectl.run("create", "cm", "a", "--from-literal=k=1")
    kubectl.run("label", "cm", "a", "kopf=yes")
    kubectl.run("wait", "cm/a", "--for=jsonpath={.metadata.annotations.seen}=1", f"--timeout={HANG_SECONDS}s")
    kubectl.run("delete", "cm", "a", f"--timeout={HANG_SECONDS}s")
    with kubectl.start("logs", "-f", "deployment/operator") as following:
        line_with(following, "goodbye a")


def test_toolkit_program_runs_as_a_process_pod(kubectl):
    """It finds the API and its account as it would in a container."""
    example = Path(__file__).parents[2] / "examples" / "heartbeat.py"
    kubectl.run("create", "role", "leases", "--verb=*", "--resource=leases.coordination.k8s.io")
    kubectl.run("create", "rolebinding", "leases", "--role=leases", f"--serviceaccount={kubectl.namespace}:default")
    run(kubectl, pod(command=["python", str(example)], container={"args": ["$(HOSTNAME)"]}))
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{kubectl.namespace}/leases"
    (lease,) = until(kubectl.cluster, leases, lambda objects: objects)
    assert lease["spec"]["holderIdentity"] == "p"


def test_exec_with_tty_has_a_terminal(streaming):
    run(streaming, pod(command=["sleep", "3600"]))
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (33, 44))
    # The input may arrive before the size.
    script = 'test -t 0 && read line; until [ "$(stty size)" = "33 44" ]; do sleep 0.1; done; echo got $line'
    command = subprocess.Popen(
        streaming.command("exec", "-it", "p", "--", "sh", "-c", script),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=streaming.environment,
    )
    os.close(slave)
    os.write(master, b"word\n")
    assert command.wait(HANG_SECONDS) == 0
    output = b""
    with contextlib.suppress(OSError):  # EIO at the end: no process has the other side
        while piece := os.read(master, 4096):
            output += piece
    os.close(master)
    assert b"got word" in output


def test_python_client_runs_commands_and_forwards_ports(kubectl):
    pytest.importorskip("kubernetes")
    port = free_port()
    probe = {"tcpSocket": {"port": port}, "periodSeconds": 1}
    run(kubectl, pod(command=[*SERVER, str(port)], container={"readinessProbe": probe}))
    # In a process of its own, as it leaves connections open.
    client = [sys.executable, "-W", "ignore", str(Path(__file__).parent / "rounds" / "python_streams.py")]
    done = subprocess.run(
        [*client, kubectl.namespace, str(port)], env=kubectl.environment, capture_output=True, text=True, timeout=HANG_SECONDS,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("['err', 'out']\nb'HTTP'\n", 0), done.stderr


@pytest.mark.parametrize("isolation", ["auto", "none"])
def test_killed_nodes_leave_no_processes(isolation, tmp_path):
    """Neither a container nor what it has started outlives the process that it belongs to."""
    fifo, token = tmp_path / "started", f"1000.{secrets.randbelow(10**9)}"
    os.mkfifo(fifo)
    os.mkfifo(tmp_path / "never")
    # No exec, during which a process has no command line.
    subshell = "echo started > $(STEERSMAN_ROOT)/report/started; read line < $(STEERSMAN_ROOT)/report/never"
    script = f": {token}; ({subshell}) & wait"
    new_pod = pod(
        command=["sh", "-c", script],
        container={"volumeMounts": [{"name": "report", "mountPath": "/report"}]},
        volumes=[{"name": "report", "hostPath": {"path": str(tmp_path)}}],
    )
    with ControlPlane(whole=True, arguments=["--process-pods", f"--process-isolation={isolation}"]) as cluster:
        kubectl = Kubectl(cluster, tmp_path, "default")
        until(cluster, path(kubectl, "serviceaccounts"), named("default"))
        kubectl.run("apply", "-f", "-", stdin=json.dumps(new_pod))
        first = started(fifo, token)
        # The start must be observed before the end.
        kubectl.run("wait", "--for=condition=Ready", "pod/p", f"--timeout={HANG_SECONDS}s")
        os.kill(components_of(cluster.pid), 9)
        for item in first:
            item.wait()
        # The nodes come back, and so does the pod.
        second = started(fifo, token)
        restarts = "--for=jsonpath={.status.containerStatuses[0].restartCount}=1"
        kubectl.run("wait", restarts, "pod/p", f"--timeout={HANG_SECONDS}s")
    for item in second:
        item.wait()


def started(fifo, token):
    """Wait for a line in the fifo; return the processes whose command line has the token."""
    with os.fdopen(os.open(fifo, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as reported:
        assert select.select([reported], [], [], HANG_SECONDS)[0]
        reported.read(100)
    pids = []
    for file in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if file.name.isdigit() and token.encode() in (file / "cmdline").read_bytes():
                pids.append(Ending(int(file.name)))
    assert len(pids) >= 2  # the shell and what it started
    return pids


def components_of(parent):
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return next(int(child) for child in children if b"components" in Path(f"/proc/{child}/cmdline").read_bytes())
