"""Start of the measured servers: an API server and the bare handler, one process each."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml

from benchmarks.client import Target

TOKEN = "benchmark-token"
#: Token of a user without permissions.
READER_TOKEN = "benchmark-reader"


@dataclass
class Server:
    """Started API server."""

    process: subprocess.Popen[bytes]
    target: Target
    directory: Path
    #: Seconds from the start of the process to the first ``ok`` of ``/readyz``.
    ready_seconds: float

    @property
    def rss_bytes(self) -> int:
        """Resident memory of the process and its children."""
        return sum(_rss(pid) for pid in [self.process.pid, *_children(self.process.pid)])

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loop_seconds(pid: int) -> float:
    """Return the CPU time of a process's first thread, which runs the event loop."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def _rss(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def processes(pid: int) -> dict[str, int]:
    """Return an API server's process and its children, by role."""
    pids = {"API server": pid}
    for child in _children(pid):
        writes = b"sqlite/batches" in Path(f"/proc/{child}/cmdline").read_bytes()
        pids["its writer" if writes else "beside it"] = child
    return pids


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process."""
    return [int(p) for task in Path(f"/proc/{pid}/task").iterdir() for p in (task / "children").read_text().split()]


@contextlib.contextmanager
def api_server(
    *, ephemeral: bool = False, directory: Path | None = None, extra: tuple[str, ...] = ()
) -> Iterator[Server]:
    """Run ``steersman apiserver`` on any port; with ``directory`` its files are kept."""
    place = directory or Path(tempfile.mkdtemp(prefix="steersman-bench-"))
    tokens = place / "tokens.csv"
    tokens.write_text(f'{TOKEN},bench,bench,"system:masters"\n{READER_TOKEN},reader,reader\n')
    tokens.chmod(0o600)
    kubeconfig = place / "bench.kubeconfig"
    kubeconfig.unlink(missing_ok=True)
    command = [sys.executable, "-m", "steersman", "apiserver", "--secure-port", "0", "--token-auth-file", str(tokens)]
    command += ["--data-dir", str(place / "data"), "--kubeconfig", str(kubeconfig), *extra]
    if ephemeral:
        command.append("--ephemeral")
    log = (place / "server.log").open("wb")
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        target = _wait(process, kubeconfig, place)
        ready_seconds = time.perf_counter() - start
        target.loop_seconds = partial(loop_seconds, process.pid)
        yield Server(process, target, place, ready_seconds)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()
        if directory is None:
            shutil.rmtree(place, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], kubeconfig: Path, place: Path) -> Target:
    context = ssl._create_unverified_context()
    deadline = time.perf_counter() + 30
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {(place / 'server.log').read_text()}")
        if not kubeconfig.exists() or not kubeconfig.stat().st_size:
            time.sleep(0.002)
            continue
        server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        host, _, port = server.removeprefix("https://").partition(":")
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=5)
        try:
            connection.request("GET", "/readyz", headers={"authorization": f"Bearer {TOKEN}"})
            if connection.getresponse().status == 200:
                return Target(host, int(port), str(_ca(place)), TOKEN)
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.002)
    raise RuntimeError("the server did not become ready")


def _ca(place: Path) -> Path:
    return next((place / "data" / "pki").glob("ca.crt"))


@contextlib.contextmanager
def bare_server(pki: Path, *, small_bytes: int, large_bytes: int) -> Iterator[Target]:
    """Run the baseline with the same certificate."""
    command = [sys.executable, "-m", "benchmarks.bare", "--pki", str(pki)]
    command += ["--small-bytes", str(small_bytes), "--large-bytes", str(large_bytes)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield Target("127.0.0.1", port, str(pki / "ca.crt"), TOKEN)
    finally:
        process.kill()
        process.wait()
