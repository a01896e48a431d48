"""The official JavaScript client does its round."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = Path(os.environ.get("STEERSMAN_NODE_MODULES", ROOT / "node_modules"))

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not on this machine"),
    pytest.mark.skipif(not (MODULES / "@kubernetes" / "client-node").is_dir(), reason="@kubernetes/client-node is not installed (make node)"),
]


def test_client_node(cluster, namespace):
    script = Path(__file__).with_name("client_node.mjs")
    command = ["node", str(script), str(cluster.kubeconfig), namespace]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"listed": ["a"], "events": [["MODIFIED", "2"], ["DELETED", "2"]]}
