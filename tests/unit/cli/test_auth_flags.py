"""Flags about authentication and authorization."""

from __future__ import annotations

import pytest

from steersman.cli.auth_flags import AUTHENTICATION_FLAGS, AUTHORIZATION_FLAGS
from steersman.controlplane.options import APIServerOptions


@pytest.mark.parametrize(
    ("flags", "prefixes"),
    [
        (AUTHENTICATION_FLAGS, ("oidc_", "requestheader_", "service_account_")),
        (AUTHORIZATION_FLAGS, ("authorization_",)),
    ],
)
def test_options_of_a_group_have_a_flag_each(flags, prefixes):
    options = {name for name in APIServerOptions.__struct_fields__ if name.startswith(prefixes)}
    assert options
    assert options <= {flag.target for flag in flags}
