"""``--runtime-config``; refusals with their full text are in ``tests/unit/cli/test_refusals.py``."""

import pytest

from steersman.controlplane.options import OptionError
from steersman.controlplane.runtime_config import check_runtime_config


@pytest.mark.parametrize(
    ("config", "warnings"),
    [
        ({"apps/v1": True, "api/ga": True, "batch/v1/jobs": True}, []),
        ({"resource.k8s.io/v1alpha3": False}, []),
        (
            {"api/beta": True},
            ["--runtime-config: api/beta=true has no effect: Steersman serves all versions that it has"],
        ),
    ],
)
def test_what_is_served_already_may_be_enabled(config, warnings):
    assert check_runtime_config(config) == warnings


@pytest.mark.parametrize("key", ["v1", "api/ga", "apps/v1/deployments", "a/b/c/d"])
def test_built_in_api_cannot_be_disabled(key):
    with pytest.raises(OptionError, match="--runtime-config: "):
        check_runtime_config({key: False})
