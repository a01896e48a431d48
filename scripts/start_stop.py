"""Start and stop control planes many times, under load and at random moments.

    scripts/start_stop.py --times 100 --seed 1 --load 2

Each round starts one command with a seeded choice of storage and of the way it is stopped: SIGTERM, SIGINT, a second
signal shortly after the first, or the end of the process that started it. Two rounds in three stop it at a random
moment of the start; in the others the first ``kubectl run`` follows at once when ``up`` is ready, and must be admitted.
After each round no process, temporary file or announcement may be left, and the exit code is 0. Rounds with durable
storage share one data directory, so each opens what the one before left. Prints a line for each failure and the
figures at the end; exits with 1 after a failure or a stop that took longer than ``--stop-seconds``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READY = re.compile(r" is ready at (\S+)")
KUBECONFIG = re.compile(r"export KUBECONFIG=(.*)")
MARK = "STEERSMAN_CAMPAIGN_MARK"
WAYS = ("SIGTERM", "SIGTERM", "SIGINT", "SIGTERM twice", "parent")
COMMANDS = ("up", "up", "up", "up", "apiserver", "controller-manager", "scheduler", "nodes")
#: A longer round counts as hanging.
PATIENCE_SECONDS = 120.0


class BrokenPromiseError(Exception):
    """Violated promise of a round."""


class Round:
    """One start and stop, in folders of its own."""

    def __init__(self, number: int, work: Path, rng: random.Random, server: str) -> None:
        self.number = number
        self.command = rng.choice(COMMANDS)
        self.waits_ready = self.command == "up" and rng.random() < 0.4
        self.way = rng.choice(WAYS)
        self.is_durable = self.command in ("up", "apiserver") and rng.random() < 0.5
        self.moment = rng.random()
        self.gap = rng.random() / 5
        self.server = server
        self.work = work
        self.temporary = work / f"tmp-{number}"
        self.state = work / f"state-{number}"
        self.log = work / f"log-{number}"
        self.mark = f"{work}/{number}"

    def __str__(self) -> str:
        moment = "ready" if self.waits_ready else f"{self.moment:.2f}"
        return f"round {self.number}: {self.command} durable={self.is_durable} {self.way} at {moment}"

    def start(self) -> None:
        for folder in (self.temporary, self.state):
            folder.mkdir()
        arguments = [self.command]
        if self.command in ("up", "apiserver"):
            arguments += (
                ["--port=0", f"--data-dir={self.work / 'data'}"] if self.is_durable else ["--port=0", "--ephemeral"]
            )
        else:
            arguments += [f"--kubeconfig={self.server}"]
            arguments += ["--port=0"] if self.command != "nodes" else []
        held, self.pipe = os.pipe()
        environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        environment |= {"TMPDIR": str(self.temporary), "XDG_STATE_HOME": str(self.state), MARK: self.mark}
        self.started_at = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "steersman", *arguments, f"--parent-pipe={held}"],
                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, pass_fds=[held],
            )  # fmt: skip
        os.close(held)

    def wait_ready(self) -> float:
        """Return the seconds from the start until ``up`` reports that it is ready."""
        assert self.process.stdout is not None
        output = ""
        for line in self.process.stdout:
            output += line
            if "export KUBECONFIG" in line:
                self.kubeconfig = KUBECONFIG.search(output)[1]
                return time.monotonic() - self.started_at
        raise BrokenPromiseError(f"did not become ready: {self.log.read_text()}")

    def run_pod(self) -> None:
        name = f"first-{self.number}"
        for arguments in (
            ["run", name, "--image=nginx"],
            ["wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s"],
        ):
            done = subprocess.run(
                ["kubectl", f"--kubeconfig={self.kubeconfig}", "--cache-dir", str(self.state / "cache"), *arguments],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise BrokenPromiseError(f"kubectl {arguments[0]}: {done.stderr.strip()}")

    def handles_signals(self) -> bool:
        """Report whether the process handles signals itself; before, the interpreter's default actions apply."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
        return False

    def stop(self) -> float:
        """Return the seconds from the request until the last process has ended."""
        handled = self.handles_signals()
        start = time.monotonic()
        if self.way == "parent":
            os.close(self.pipe)
            self.pipe = -1
        else:
            self.process.send_signal(signal.Signals[self.way.split()[0]])
            if self.way.endswith("twice"):
                time.sleep(self.gap)
                self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise BrokenPromiseError("did not end") from None
        while alive := survivors(self.mark):
            if time.monotonic() - start > PATIENCE_SECONDS:
                raise BrokenPromiseError(f"left processes: {alive}")
            time.sleep(0.01)
        elapsed = time.monotonic() - start
        log = self.log.read_text()
        if handled and code != 0:
            raise BrokenPromiseError(f"exit code {code}: {log}")
        if handled and ("did not end within" in log or "Traceback" in log):
            raise BrokenPromiseError(f"log: {log}")
        for folder in (self.temporary, self.state / "steersman" / "running"):
            if folder.exists() and (left := os.listdir(folder)):
                raise BrokenPromiseError(f"left in {folder}: {left}")
        return elapsed

    def close(self) -> None:
        if self.pipe >= 0:
            os.close(self.pipe)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        for folder in (self.temporary, self.state):
            shutil.rmtree(folder, ignore_errors=True)


def survivors(mark: str) -> list[str]:
    """Return the command lines of living processes with the mark in their environment."""
    remaining = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}\0".encode() in (folder / "environ").read_bytes():
                remaining.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return remaining


def play(number: int, work: Path, rng: random.Random, server: str, span: float) -> tuple[Round, float | None, float]:
    """Play one round; return it, its seconds until ready if reached, and those of its stop.

    Raises ``BrokenPromiseError``.
    """
    played = Round(number, work, rng, server)
    played.start()
    try:
        ready = None
        if played.waits_ready:
            ready = played.wait_ready()
            played.run_pod()
        else:
            time.sleep(played.moment * span)
        return played, ready, played.stop()
    except BrokenPromiseError as failure:
        raise BrokenPromiseError(f"{played}: {failure}") from None
    finally:
        played.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--load", type=int, default=2, help="processes that keep a core busy")
    parser.add_argument(
        "--span", type=float, default=3.0, help="random moments lie within so many seconds of the start"
    )
    parser.add_argument("--stop-seconds", type=float, default=2.0, help="how long a stop may take")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    failures, readies, stops = [], [], []
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.load)]
    try:
        with tempfile.TemporaryDirectory(prefix="start-stop-") as folder:
            work = Path(folder)
            base = Round(0, work, random.Random(0), "")
            base.command, base.is_durable = "apiserver", False
            base.start()
            try:
                base.wait_ready()
                for number in range(1, args.times + 1):
                    try:
                        played, ready, stop = play(number, work, rng, base.kubeconfig, args.span)
                    except BrokenPromiseError as failure:
                        failures.append(str(failure))
                        print(failures[-1], flush=True)
                        continue
                    stops.append(stop)
                    readies += [] if ready is None else [ready]
                    if stop > args.stop_seconds:
                        failures.append(f"{played}: stopping took {stop:.2f} s")
                        print(failures[-1], flush=True)
            finally:
                base.close()
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(f"{args.times} rounds, {len(failures)} failures, {len(readies)} became ready and ran a pod")
    if stops:
        print(f"stop: median {statistics.median(stops):.2f} s, longest {max(stops):.2f} s")
    if readies:
        print(f"ready: median {statistics.median(readies):.2f} s, longest {max(readies):.2f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
