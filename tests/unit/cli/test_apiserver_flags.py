"""Table of the flags of kube-apiserver; ``test_upstream_flags`` compares it with upstream's."""

from __future__ import annotations

from steersman.cli.apiserver_flags import API_SERVER_FLAGS
from steersman.controlplane.options import APIServerOptions

#: Options with flags outside of the table, or without a flag.
ELSEWHERE = {"drain_seconds", "ephemeral", "explicit_flags", "kubeconfig", "name", "reported_flags"}


def test_options_have_one_flag_each():
    targets = [flag.target for rows in API_SERVER_FLAGS.values() for flag in rows]
    assert len(targets) == len(set(targets))
    assert set(APIServerOptions.__struct_fields__) - ELSEWHERE <= set(targets)
