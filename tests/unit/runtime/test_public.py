import subprocess
import sys

import pytest

from steersman import runtime


@pytest.mark.parametrize("name", runtime.__all__)
def test_exported_names_exist_and_have_docstrings(name):
    assert getattr(runtime, name).__doc__


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = runtime.Nonsense


@pytest.mark.parametrize("module", ["owners", "conditions", "finalizers", "structs", "claims", "result"])
def test_imports_of_plans_load_no_metrics_and_no_manager(module):
    """A plan stays cheap to import."""
    program = (
        f"import sys, steersman.runtime.{module}\n"
        "sys.exit(any(name in sys.modules for name in ('prometheus_client', 'steersman.runtime.manager')))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
