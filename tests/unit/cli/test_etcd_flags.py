"""Flags about the store."""

from __future__ import annotations

from steersman.cli.etcd_flags import ETCD_FLAGS
from steersman.controlplane.options import APIServerOptions


def test_etcd_options_have_a_flag_each():
    options = {name for name in APIServerOptions.__struct_fields__ if name.startswith("etcd_")}
    assert options
    assert options <= {flag.target for flag in ETCD_FLAGS}
