"""Models without lightkube's own client."""

import subprocess
import sys

PROGRAM = """
import sys
from steersman.cli.model_imports import skip_lightkube_client
skip_lightkube_client()
skip_lightkube_client()
from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ObjectMeta
from steersman.extras import require
require("a test", "toolkit")
print(Pod(metadata=ObjectMeta(name="a")).to_dict()["metadata"], "lightkube.core.client" in sys.modules, len(sys.meta_path) - {finders})
"""
COUNT = "import sys; print(len(sys.meta_path))"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_skip_lightkube_client_imports_models_alone():
    assert run(PROGRAM.format(finders=run(COUNT))) == "{'name': 'a'} False 1"


def test_components_never_import_the_client_of_lightkube():
    code = (
        "import sys; from steersman.cli.main import main\n"
        "try:\n    main(['scheduler', '--help'])\nexcept SystemExit:\n    pass\n"
        "print('lightkube.models' in sys.modules, 'lightkube.core.client' in sys.modules)"
    )
    assert run(code).splitlines()[-1] == "True False"


def test_lightkube_keeps_its_client_in_other_processes():
    assert run("import steersman.cli.main, steersman.client, lightkube; print(lightkube.Client.__name__)") == "Client"
