"""The commands as processes."""

import os
import select
import signal
import subprocess
import sys

import pytest


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "steersman", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("command", ["up", "apiserver"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well_and_leaves_nothing(command, number, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with start(command, "--ephemeral", "--port=0") as process:
        assert " is ready at https://127.0.0.1:" in process.stdout.readline()
        assert process.stdout.readline().startswith("export KUBECONFIG=")
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_second_start_on_the_same_directory_is_refused(tmp_path):
    with start("up", f"--data-dir={tmp_path}", "--port=0") as first:
        first.stdout.readline()
        second = start("up", f"--data-dir={tmp_path}", "--port=0")
        out, err = second.communicate(timeout=20)
        assert (second.returncode, out) == (1, "")
        assert f"is in use by process {first.pid}" in err
        assert len(err.splitlines()) == 1
        first.terminate()
        first.communicate(timeout=20)


def test_it_ends_with_the_process_that_started_it(tmp_path):
    arguments = ["-m", "steersman", "apiserver", f"--data-dir={tmp_path}", "--port=0", "--die-with-parent"]
    code = (
        "import subprocess, sys\n"
        f"process = subprocess.Popen([sys.executable, *{arguments}], stdout=subprocess.PIPE, text=True)\n"
        "process.stdout.readline()\n"
        "print(process.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    ended, _, _ = select.select([child], [], [], 20)
    os.close(child)
    assert ended
