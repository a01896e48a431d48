"""``--runtime-config``; refusals with their full text are in ``tests/unit/cli/test_refusals.py``."""

import pytest

from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.controlplane.runtime_config import (
    check_runtime_config,
    holds_elections,
    served_resources,
    serves_migrations,
)


@pytest.mark.parametrize(
    ("config", "warnings"),
    [
        ({"apps/v1": True, "api/ga": True, "batch/v1/jobs": True}, []),
        ({"resource.k8s.io/v1alpha3": False}, []),
        ({"coordination.k8s.io/v1beta1": False, "api/alpha": False}, []),
        (
            {"api/beta": True, "api/alpha": True},
            ["--runtime-config: api/alpha=true has no effect: Steersman serves all alpha versions that it has"],
        ),
    ],
)
def test_served_versions_may_be_enabled(config, warnings):
    assert check_runtime_config(config) == warnings


@pytest.mark.parametrize(
    "key", ["v1", "api/ga", "apps/v1/deployments", "coordination.k8s.io/v1beta1/leasecandidates", "a/b/c/d"]
)
def test_built_in_api_cannot_be_disabled(key):
    with pytest.raises(OptionError, match="--runtime-config: "):
        check_runtime_config({key: False})


def versions(group, **options):
    served = served_resources(APIServerOptions(**options))
    return [version.name for one in served.groups if one.name == group for version in one.versions]


@pytest.mark.parametrize(
    ("options", "served"),
    [
        ({}, ["v1", "v1beta1", "v1alpha2"]),
        ({"runtime_config": {"coordination.k8s.io/v1beta1": False}}, ["v1", "v1alpha2"]),
        ({"runtime_config": {"api/beta": False}}, ["v1", "v1alpha2"]),
        ({"runtime_config": {"api/all": False, "coordination.k8s.io/v1beta1": True}}, ["v1", "v1beta1"]),
        ({"feature_gates": {"CoordinatedLeaderElection": False}}, ["v1"]),
        ({"feature_gates": {"CoordinatedLeaderElection": True}}, ["v1", "v1beta1", "v1alpha2"]),
    ],
)
def test_served_resources_lack_disabled_versions(options, served):
    assert versions("coordination.k8s.io", **options) == served
    table = served_resources(APIServerOptions(**options))
    assert {one.version for one in table.resources if one.group == "coordination.k8s.io"} == set(served)
    assert versions("apps", **options) == ["v1"]
    assert holds_elections(APIServerOptions(**options)) == ("v1beta1" in served)


@pytest.mark.parametrize(
    ("config", "is_served"),
    [
        ({}, False),
        ({"storagemigration.k8s.io/v1beta1": True}, True),
        ({"api/beta": True}, True),
        ({"api/all": True}, True),
        ({"api/beta": True, "storagemigration.k8s.io/v1beta1": False}, False),
    ],
)
def test_storage_version_migrations_are_served_on_request(config, is_served):
    assert (versions("storagemigration.k8s.io", runtime_config=config) == ["v1beta1"]) is is_served
    assert serves_migrations(APIServerOptions(runtime_config=config)) is is_served
