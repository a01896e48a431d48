"""Parts whose packages are missing name the extra; the other parts work without them."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.blocking import environment_without, run_without
from tests.busy_machine import HANG_SECONDS

from steersman import extras
from steersman.extras import MissingPackagesError, load_attribute, require

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Packages with modules for users. ``cli`` and ``controlplane`` are entered by commands, which are tested below.
PUBLIC = ("client", "runtime", "webhooks", "testing", "apiserver", "controllers", "scheduler", "nodes")
IMPORT_ALL = """
import importlib, json, pkgutil, sys
import steersman
ON_DEMAND = {"steersman.asynckit.certificates"}  # imported where a certificate is created, with a package of the server
refused, raw = [], []
for name in sys.argv[1:]:
    try:
        package = importlib.import_module(f"steersman.{name}")
        for exported in getattr(package, "__all__", ()):
            getattr(package, exported)
        for found in pkgutil.walk_packages(package.__path__, f"steersman.{name}."):
            if found.name not in ON_DEMAND:
                importlib.import_module(found.name)
    except ModuleNotFoundError as error:
        (refused if type(error).__name__ == "MissingPackagesError" else raw).append([name, str(error)])
print(json.dumps({"refused": refused, "raw": raw}))
"""


def import_all(missing, folder, names):
    done = run_without(missing, folder, "-c", IMPORT_ALL, *names)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_toolkit_imports_without_the_packages_of_the_server(tmp_path):
    outcome = import_all(["server"], tmp_path, ["client", "runtime", "asynckit", "apimachinery", "scheduler", "nodes"])
    assert outcome == {"refused": [], "raw": []}


def test_apiserver_imports_without_the_packages_of_the_toolkit(tmp_path):
    names = ["apiserver", "storage", "schema", "cel", "asynckit", "apimachinery"]
    assert import_all(["toolkit"], tmp_path, names) == {"refused": [], "raw": []}


@pytest.mark.parametrize(
    ("missing", "refused"),
    [
        ("server", ["webhooks", "testing", "apiserver", "controllers"]),
        ("toolkit", ["client", "webhooks", "testing", "controllers", "scheduler", "nodes"]),
    ],
)
def test_import_names_the_missing_packages(missing, refused, tmp_path):
    outcome = import_all([missing], tmp_path, [name for name in PUBLIC if name != "runtime"])
    assert outcome["raw"] == []
    assert [name for name, _ in outcome["refused"]] == [name for name in PUBLIC if name in refused]
    for _, text in outcome["refused"]:
        assert "not installed: pip install " in text
        assert extras.PACKAGES[missing][0] in text or extras.PACKAGES[missing][1] in text


def test_webhook_server_imports_without_the_packages_of_the_server(tmp_path):
    code = "from steersman.webhooks import CertificateFiles, Converter, WebhookServer, allowed"
    done = run_without(["server"], tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr


#: They serve HTTPS with certificates of their own.
NEED_SERVER = ("metrics_api.py", "webhook_operator.py")


def test_examples_import_without_the_packages_of_the_server(tmp_path):
    examples = sorted(str(path) for path in EXAMPLES.glob("*.py") if path.name not in NEED_SERVER)
    code = "import runpy, sys\nfor path in sys.argv[1:]:\n    runpy.run_path(path, run_name='imported')"
    done = run_without(["server"], tmp_path, "-c", code, *examples)
    assert done.returncode == 0, done.stderr


def test_connect_names_the_toolkit_when_aiohttp_is_missing(tmp_path):
    code = (
        "from steersman.client.aiohttp_transport import AiohttpTransport\n"
        "try:\n    AiohttpTransport(None)\nexcept ImportError as error:\n    print(error)\n"
    )
    done = run_without(["toolkit"], tmp_path, "-c", code)
    assert done.stdout == (
        "a client over TCP needs aiohttp, lightkube, which are not installed: pip install steersman\n"
    ), done.stderr


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("up", "server"), ("up", "toolkit"), ("apiserver", "server"),
        ("controller-manager", "server"), ("controller-manager", "toolkit"), ("scheduler", "server"),
        ("scheduler", "toolkit"), ("nodes", "server"), ("nodes", "toolkit"), ("status", "toolkit"),
        ("elections", "toolkit"),
    ],
)  # fmt: skip
def test_command_names_the_missing_packages(command, missing, tmp_path):
    done = run_without([missing], tmp_path, "-m", "steersman", command)
    names = ", ".join(extras.PACKAGES[missing])
    assert done.stderr == f"steersman {command} needs {names}, which are not installed: pip install steersman\n"
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("missing", ["server", "toolkit"])
def test_command_names_the_extras_of_the_slim_distribution(missing, tmp_path):
    metadata = tmp_path / "steersman_slim-0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: steersman-slim\nVersion: 0\n")
    done = run_without([missing], tmp_path, "-m", "steersman", "up")
    assert done.stderr.endswith(" not installed: pip install 'steersman-slim[server,toolkit]'\n")


@pytest.mark.parametrize("missing", ["server", "toolkit"])
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["down", "--help"]], ids=" ".join)
def test_command_without_extras_runs_without_their_packages(arguments, missing, tmp_path):
    done = run_without([missing], tmp_path, "-m", "steersman", *arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_apiserver_serves_without_the_packages_of_the_toolkit(tmp_path):
    environment = environment_without(["toolkit"], tmp_path)
    command = [sys.executable, "-m", "steersman", "apiserver", "--port=0", f"--data-dir={tmp_path / 'data'}"]
    with subprocess.Popen(
        command, env={**environment, "XDG_STATE_HOME": str(tmp_path)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        try:
            assert server.stdout is not None
            assert " is ready at " in server.stdout.readline()
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(HANG_SECONDS) == 0
        assert server.stderr is not None
        assert "Error" not in server.stderr.read()


def test_require_accepts_installed_packages():
    require("a test", *extras.PACKAGES)


def test_require_rejects_a_namespace_package(monkeypatch, tmp_path):
    (tmp_path / "only_a_namespace").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(extras, "PACKAGES", {"test": ("only_a_namespace",)})
    with pytest.raises(MissingPackagesError, match=r"^a test needs only_a_namespace, which is not installed: pip "):
        require("a test", "test")


def test_load_attribute_keeps_other_import_errors(monkeypatch, tmp_path):
    (tmp_path / "broken_module.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere") as caught:
        load_attribute("broken_module", "name", "a test", "server")
    assert not isinstance(caught.value, MissingPackagesError)
