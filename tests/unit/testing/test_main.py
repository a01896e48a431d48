"""``python -m steersman.testing``, and clusters in tests of unittest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.processes import wait_for_end

COMMAND = [sys.executable, "-m", "steersman.testing"]
BARE = ["--nodes=0", "--controllers=", "--no-scheduler"]


@pytest.mark.parametrize("end", ["close", "terminate"])
def test_cluster_is_described_in_json_and_ends_with_standard_input_or_sigterm(end):
    with subprocess.Popen([*COMMAND, *BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        facts = json.loads(process.stdout.readline())
        assert sorted(facts) == ["ca", "kubeconfig", "pid", "token", "url"]
        assert facts["url"].startswith("https://127.0.0.1:")
        assert Path(facts["kubeconfig"]).exists()
        os.kill(facts["pid"], 0)
        if end == "close":
            process.stdin.close()
        else:
            process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_SECONDS) == 0
    assert not Path(facts["kubeconfig"]).exists()
    assert wait_for_end(facts["pid"])


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--nodes=-1"], 1, "cluster option nodes: -1 is negative"),
        ([*BARE, "--feature-gates=NoSuchGate=true"], 1, "NoSuchGate"),
        (["--feature-gates=A"], 2, "'A' is not name=true or name=false"),
        (["--nonsense"], 2, "unrecognized arguments: --nonsense"),
    ],
)
def test_wrong_options_are_reported_with_an_exit_code(flags, code, message):
    done = subprocess.run([*COMMAND, *flags], input="", capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stdout == ""


def test_unittest_has_a_cluster_by_its_context_manager(tmp_path):
    (tmp_path / "test_operator.py").write_text(
        textwrap.dedent(
            """
            import unittest
            from steersman.testing import Cluster

            class OperatorTest(unittest.TestCase):
                @classmethod
                def setUpClass(cls):
                    cls.cluster = cls.enterClassContext(Cluster(nodes=0, controllers=[], scheduler=False))

                def setUp(self):
                    self.addCleanup(self.cluster.reset)

                def test_apply(self):
                    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "test"}}
                    [namespace] = self.cluster.apply(namespace)
                    self.assertEqual(namespace["status"]["phase"], "Active")

            if __name__ == "__main__":
                unittest.main()
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "test_operator.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 1 test" in done.stderr
