"""Sandbox of process pods: what a container sees, on machines that allow unprivileged user namespaces."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.unit.nodes.processes.test_controller import PODS, cluster, core, pod

from steersman.apimachinery.trees import Tree
from steersman.client import Client
from steersman.client.requests import PatchType
from steersman.controlplane.loopback_transport import LoopbackTransport
from steersman.nodes.kubelet.log_lines import LogOptions
from steersman.nodes.processes.isolation import Mount, Sandbox, container_sandbox, hosts_file, probe_isolation
from steersman.nodes.processes.process import Guard
from steersman.nodes.processes.resources import ApiAddress, PodResources
from steersman.nodes.processes.sandbox import resolve

ISOLATION_ERROR = asyncio.run(probe_isolation())
needs_namespaces = pytest.mark.skipif(
    bool(ISOLATION_ERROR), reason=f"process pods cannot be isolated here: {ISOLATION_ERROR}"
)


def described(**spec: object) -> Tree:
    return {"metadata": {"name": "web-0", "namespace": "default"}, "spec": spec}


# Decisions


def test_container_sandbox_takes_user_and_group_of_the_container_first(tmp_path: Path) -> None:
    created = described(securityContext={"runAsUser": 1000, "runAsGroup": 3000})
    container = {"securityContext": {"runAsUser": 0, "allowPrivilegeEscalation": False}}
    sandbox = container_sandbox(created, container, (), private=tmp_path)
    assert (sandbox.uid, sandbox.gid, sandbox.no_new_privileges) == (0, 3000, True)
    assert sandbox.hostname == "web-0"


@pytest.mark.parametrize(
    ("capabilities", "retained"),
    [({"drop": ["ALL"]}, []), ({"drop": ["ALL"], "add": ["NET_BIND_SERVICE", "SYS_ADMIN"]}, [10]), ({"drop": ["CHOWN"]}, None)],
)  # fmt: skip
def test_container_sandbox_drops_capabilities(capabilities: Tree, retained: list[int] | None, tmp_path: Path) -> None:
    container = {"securityContext": {"capabilities": capabilities}}
    result = list(container_sandbox(described(), container, (), private=tmp_path).capabilities)
    assert result == retained if retained is not None else 0 not in result and 1 in result


def test_container_sandbox_creates_a_missing_working_directory(tmp_path: Path) -> None:
    missing = container_sandbox(described(), {"workingDir": "/no/such"}, (), private=tmp_path)
    assert Mount("/no/such", mode="755") in missing.mounts
    mounted = container_sandbox(described(), {"workingDir": "/data/x"}, [Mount("/data", "/d")], private=tmp_path)
    assert {mount.path for mount in mounted.mounts} == {
        "/tmp", "/dev/shm", "/etc/hosts", "/etc/hostname", "/dev/termination-log", "/data",
    }  # fmt: skip


def test_hosts_file_has_subdomain_and_aliases() -> None:
    created = described(subdomain="web", hostAliases=[{"ip": "10.1.2.3", "hostnames": ["foo", "bar"]}])
    assert hosts_file(created).splitlines()[3:] == [
        "127.0.0.1\tweb-0.web.default.svc.cluster.local\tweb-0", "", "# Entries added by HostAliases.", "10.1.2.3\tfoo\tbar",
    ]  # fmt: skip


def test_resolve_follows_links_within_the_root(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "run").symlink_to("/run")
    (tmp_path / "up").symlink_to("../../var")
    assert resolve(str(tmp_path), "/var/run/secrets/x") == "/run/secrets/x"
    assert resolve(str(tmp_path), "/up/run") == "/run"
    assert resolve(str(tmp_path), "/../a/./b") == "/a/b"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="too many levels"):
        resolve(str(tmp_path), "/loop/x")


# The program


def run(tmp_path: Path, script: str, *, mounts: tuple[Mount, ...] = (), obj: Tree | None = None, **container: object) -> subprocess.CompletedProcess[str]:  # fmt: skip
    sandbox = container_sandbox(obj or described(), container, mounts, private=tmp_path)
    return subprocess.run(sandbox.run(["sh", "-c", script]), capture_output=True, text=True, check=False)


@needs_namespaces
def test_sandbox_isolates_processes_hostname_and_user(tmp_path: Path) -> None:
    created = described(securityContext={"runAsUser": 1000, "runAsGroup": 3000})
    done = run(tmp_path, "echo $$; hostname; id -u; id -g; cat /etc/hostname; exit 3", obj=created)
    assert done.stdout.split() == ["1", "web-0", "1000", "3000", "web-0"]
    assert done.returncode == 3


@needs_namespaces
def test_sandbox_is_read_only_but_for_its_mounts(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "key").write_text("value\n")
    private = tmp_path / "private"
    private.mkdir()
    mounts = (Mount("/etc/config", str(tmp_path / "config"), read_only=True), Mount("/data", str(tmp_path / "data")))
    script = """
        cat /etc/config/key
        for path in /etc /usr /etc/config /root-of-nothing; do touch $path/x 2>/dev/null && echo wrote $path; done
        for path in /data /tmp /dev/shm /made-for-this;  do touch $path/x && echo wrote $path; done
        mount -o remount,rw /usr 2>/dev/null && echo remounted
        test -e $0 && echo found; test -c /dev/null && pwd
    """
    sandbox = container_sandbox(described(), {"workingDir": "/made-for-this"}, mounts, private=private)
    done = subprocess.run(sandbox.run(["sh", "-c", script, str(tmp_path)]), capture_output=True, text=True, check=False)
    lines = ["value", "wrote /data", "wrote /tmp", "wrote /dev/shm", "wrote /made-for-this", "/made-for-this"]
    assert done.stdout.splitlines() == lines, done.stderr
    assert (tmp_path / "data" / "x").exists()


@needs_namespaces
def test_sandbox_mounts_inside_another_volume(tmp_path: Path) -> None:
    (tmp_path / "outer").mkdir()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_text("inner\n")
    private = tmp_path / "private"
    private.mkdir()
    mounts = (Mount("/data/deep/inner", str(tmp_path / "inner")), Mount("/data", str(tmp_path / "outer")))
    assert run(private, "cat /data/deep/inner/file", mounts=mounts).stdout == "inner\n"


@needs_namespaces
def test_sandbox_reports_a_command_that_cannot_start(tmp_path: Path) -> None:
    sandbox = container_sandbox(described(), {}, (), private=tmp_path)
    done = subprocess.run(sandbox.run(["/no/such/program"]), capture_output=True, text=True, check=False)
    assert done.returncode == 128
    assert Path(sandbox.errors).read_text() == 'exec: "/no/such/program": no such file or directory'


@needs_namespaces
def test_sandbox_reports_a_volume_that_is_missing(tmp_path: Path) -> None:
    sandbox = container_sandbox(described(), {}, [Mount("/data", "/no/such")], private=tmp_path)
    subprocess.run(sandbox.run(["true"]), capture_output=True, check=False)
    assert Path(sandbox.errors).read_text() == "cannot create the sandbox: No such file or directory"


@needs_namespaces
def test_probe_isolation_reports_why_namespaces_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sandbox, "run", lambda _self, _words: ["sh", "-c", "echo forbidden >&2; exit 1"])
    assert asyncio.run(probe_isolation()) == "forbidden"


# Pods


@needs_namespaces
async def test_isolated_pod_has_its_volumes_at_their_paths(tmp_path: Path) -> None:
    """ConfigMap and Secret below ``/etc``, an init container that writes for two others, a downward API file that follows
    a label.
    """
    script = "cat /etc/config/color /etc/keys/password /shared/from-init; echo mine > /shared/x; while sleep 0.05; do cat /etc/podinfo/labels 2>/dev/null; echo; done"  # fmt: skip
    async with cluster(tmp_path, isolation="namespaces") as world:
        await world.client.create(core("Secret", "s", stringData={"password": "hidden"}))
        new_pod = pod(script)
        new_pod["metadata"]["labels"] = {"stage": "one"}
        volumes = [
            {"name": "config", "configMap": {"name": "m", "defaultMode": 0o440}},
            {"name": "keys", "secret": {"secretName": "s"}},
            {"name": "shared", "emptyDir": {}},
            {"name": "info", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        ]  # fmt: skip
        mounts = [
            {"name": "config", "mountPath": "/etc/config"},
            {"name": "keys", "mountPath": "/etc/keys"},
            {"name": "shared", "mountPath": "/shared"},
            {"name": "info", "mountPath": "/etc/podinfo"},
        ]
        main = {**new_pod["spec"]["containers"][0], "volumeMounts": mounts}
        second = {"name": "d", "image": "i", "command": ["sh", "-c", "until cat /shared/x; do sleep 0.05; done; sleep 60"], "volumeMounts": [mounts[2]]}  # fmt: skip
        init = {"name": "init", "image": "i", "command": ["sh", "-c", "echo prepared > /shared/from-init"], "volumeMounts": [mounts[2]]}  # fmt: skip
        new_pod["spec"] |= {"containers": [main, second], "initContainers": [init], "volumes": volumes}
        created = await world.client.create(new_pod)
        await world.phase("Running")
        await log_line(world, created, "c", 'stage="one"')
        assert (await read_log(world, created, "c")).startswith("bluehiddenprepared\n")
        await log_line(world, created, "d", "mine")
        labels = {"metadata": {"labels": {"stage": "two"}}}
        await world.client.patch(PODS, "p", labels, patch_type=PatchType.MERGE, namespace="default")
        await world.wait_until(lambda obj: obj["metadata"]["labels"]["stage"] == "two")
        await world.controller._refresh()
        await log_line(world, created, "c", 'stage="two"')
        await world.client.delete(PODS, "p", namespace="default")


@needs_namespaces
async def test_isolated_pod_reports_termination_message_and_start_error(tmp_path: Path) -> None:
    async with cluster(tmp_path, isolation="namespaces") as world:
        await world.client.create(pod("echo why > /dev/termination-log; exit 4"))
        ended = await world.phase("Failed")
        state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (state["exitCode"], state["message"]) == (4, "why\n")
        await world.client.delete(PODS, "p", namespace="default", grace_period_seconds=0)
        await world.client.create(pod("", command=["/no/such"]))
        ended = await world.phase("Failed")
        state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (state["exitCode"], state["reason"]) == (128, "StartError")
        assert state["message"] == 'exec: "/no/such": no such file or directory'


@pytest.mark.parametrize(
    ("policy", "code", "message"),
    [("FallbackToLogsOnError", 1, "91\n" + "x\n" * 79), ("FallbackToLogsOnError", 0, ""), ("File", 1, "")],
)
def test_termination_message_falls_back_to_the_end_of_the_log(
    policy: str, code: int, message: str, tmp_path: Path
) -> None:
    resources = PodResources(
        Client(LoopbackTransport(None)), {"metadata": {"name": "p", "namespace": "n", "uid": "u"}}, {}, directory=tmp_path,
        guard=Guard(), api=ApiAddress("https://127.0.0.1"), recorder=None,
    )  # fmt: skip
    log = b"".join(b"%d\n" % number for number in range(92)) + b"x\n" * 79
    container = {"name": "c", "terminationMessagePolicy": policy}
    assert resources.termination_message(container, code=code, log=log) == message


async def read_log(world, obj: Tree, container: str) -> str:
    return b"".join([piece async for piece in world.controller.host.logs(obj, container, LogOptions())]).decode()


async def log_line(world, obj: Tree, container: str, line: str) -> None:
    """Wait until a container has written a line."""
    text = ""
    async with asyncio.timeout(HANG_SECONDS):
        async for piece in world.controller.host.logs(obj, container, LogOptions(follow=True)):
            text += piece.decode()
            if line in text.splitlines():
                return
    raise AssertionError(text)
