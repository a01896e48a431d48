"""Defaults of HTTPS serving."""

import pytest

from steersman.runtime.serving_options import ControllerManagerServing, SchedulerServing, ServingOptions


@pytest.mark.parametrize(
    ("kind", "port"), [(ServingOptions, 0), (ControllerManagerServing, 10257), (SchedulerServing, 10259)]
)
def test_components_have_the_ports_of_upstream_and_listen_on_loopback(kind, port):
    options = kind()
    assert (options.secure_port, options.bind_address) == (port, "127.0.0.1")
    assert options.authorization_always_allow_paths == ("/healthz", "/readyz", "/livez")


def test_failed_lookup_is_tolerated_by_the_scheduler_only():
    assert SchedulerServing().authentication_tolerate_lookup_failure
    assert not ControllerManagerServing().authentication_tolerate_lookup_failure
