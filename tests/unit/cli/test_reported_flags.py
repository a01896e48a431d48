"""Values of flags as ``/flagz`` shows them."""

from __future__ import annotations

from steersman.cli.apiserver_flags import API_SERVER_FLAGS
from steersman.cli.flags import parse
from steersman.cli.reported_flags import flag_values
from steersman.controlplane.options import APIServerOptions


def test_flags_are_reported_as_on_a_command_line() -> None:
    arguments = ["--request-timeout=90s", "--anonymous-auth=false", "--enable-admission-plugins=AlwaysPullImages"]
    _, parsed = parse("apiserver", arguments)
    values = flag_values(parsed, API_SERVER_FLAGS, APIServerOptions)
    assert values["request-timeout"] == "1m30s"
    assert values["anonymous-auth"] == "false"
    assert values["enable-admission-plugins"] == "AlwaysPullImages"
    assert values["authorization-mode"] == "Node,RBAC"
    assert "reported-flags" not in values
