import subprocess
import sys

import pytest

from steersman import runtime


@pytest.mark.parametrize("name", runtime.__all__)
def test_what_is_listed_is_there_and_says_what_it_is(name):
    assert getattr(runtime, name).__doc__


def test_what_is_not_listed_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = runtime.Nonsense


@pytest.mark.parametrize("module", ["owners", "conditions", "finalizers", "structs", "claims", "result"])
def test_what_plans_need_loads_no_metrics_and_no_manager(module):
    """A plan stays cheap to import."""
    program = (
        f"import sys, steersman.runtime.{module}\n"
        "sys.exit(any(name in sys.modules for name in ('prometheus_client', 'steersman.runtime.manager')))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
