"""The page about scheduler plugins: the example's own tests, and its package in a scheduler process with an extender."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml
from tests.busy_machine import LONG_HANG_SECONDS
from tests.e2e.conftest import post
from tests.e2e.watching import until_one

from steersman.testing import ControlPlane

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "rack_packing"
PAGE = (ROOT / "docs" / "scheduler-plugins.md").read_text()
CONFIG = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_page_shows_the_source_of_the_example() -> None:
    blocks = re.findall(r"^```(?:toml|python)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    files = ["rack_packing.py", "rack_packing.py", "pyproject.toml", "test_rack_packing.py"]
    sources = [lines_of((EXAMPLE / file).read_text()) for file in files]
    assert [lines_of(block) in source for block, source in zip(blocks, sources, strict=True)] == [True] * 4


def lines_of(text: str) -> str:
    """Return a text without indentation and empty lines: blocks of a page are formatted as programs."""
    return "\n".join(filter(None, map(str.strip, text.splitlines())))


def test_tests_of_the_example_pass(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONG_HANG_SECONDS
    )  # fmt: skip
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def install(target: Path, source: Path) -> None:
    """Install the wheel of the example into a directory for ``PYTHONPATH``."""
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--no-cache-dir", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", *options, f"--target={target}", str(source)]
    subprocess.run(pip, check=True, capture_output=True, timeout=LONG_HANG_SECONDS)


@contextmanager
def extender(received: list[str]) -> Iterator[str]:
    """Serve an extender that rejects nodes whose names end with ``x``; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            names = json.loads(self.rfile.read(int(self.headers["content-length"])))["NodeNames"]
            received.append(self.path)
            body = json.dumps({"NodeNames": [name for name in names if not name.endswith("x")]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — named by the base class
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def scheduler(plane: ControlPlane, config: Path, packages: Path) -> Iterator[None]:
    """Run ``steersman scheduler``, and check that it stops in order."""
    environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "PYTHONPATH": str(packages)}
    flags = [f"--config={config}", "--secure-port=0", "--leader-elect=false"]
    command = [sys.executable, "-m", "steersman", "scheduler", *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )  # fmt: skip
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=LONG_HANG_SECONDS)
    assert process.returncode == 0, output
    assert "Traceback" not in output


def test_scheduler_runs_the_plugin_of_an_installed_package_and_an_extender(plane: ControlPlane, tmp_path: Path) -> None:
    packages, config, received = tmp_path / "packages", tmp_path / "scheduler.yaml", list[str]()
    install(packages, tmp_path / "source")
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    post(plane, accounts, {"metadata": {"name": "default"}})
    for name, labels in (("a", {"rack": "a"}), ("ax", {"rack": "a"}), ("b", {})):
        capacity = {"cpu": "4", "memory": "8Gi", "pods": "10"}
        status = {"capacity": capacity, "allocatable": capacity}
        taints = {"spec": {"taints": []}}
        post(plane, "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}, "status": status, **taints})
    with extender(received) as url:
        extenders = [{"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True}]
        config.write_text(yaml.safe_dump({**yaml.safe_load(CONFIG[0]), "extenders": extenders}))
        with scheduler(plane, config, packages):
            tolerations = [{"operator": "Exists"}]
            spec = {
                "schedulerName": "racks",
                "containers": [{"name": "c", "image": "i"}],
                "tolerations": tolerations,
            }
            pod = {"metadata": {"name": "p", "labels": {"tenant": "red"}}, "spec": spec}
            post(plane, "/api/v1/namespaces/default/pods", pod)
            node = until_one(
                plane, "/api/v1/namespaces/default/pods/p", lambda one: one and one["spec"].get("nodeName")
            )
    assert node == "a"
    assert received == ["/v1/filter"]
