"""The examples of ``docs/drop-in.md``."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from tests.unit.cli import kubeadm_lines

from steersman.cli import flags
from steersman.cli.apiserver_flags import API_SERVER_FLAGS
from steersman.cli.scheduler_flags import SCHEDULER_FLAGS
from steersman.controllers.manager.leader_migration import Assignment, decode, validate
from steersman.controllers.registry import find

PAGE = (Path(__file__).parents[3] / "docs" / "drop-in.md").read_text()
KUBEADM, MIGRATION = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_extra_arguments_for_kubeadm_name_the_store():
    extra = yaml.safe_load(KUBEADM)["apiServer"]["extraArgs"]
    words = [f"--{argument['name']}={argument['value']}" for argument in extra]
    options, parsed = flags.parse("apiserver", [*kubeadm_lines.API_SERVER, *words])
    assert options.data_dir == Path("/var/lib/steersman")
    assert options.etcd_servers == ()
    assert "flag --etcd-servers has no effect" in "\n".join(parsed.warnings)


def test_leader_migration_configuration_assigns_controllers():
    configuration = decode(MIGRATION.encode())
    assert validate(configuration) == []
    names = ("replicaset-controller", "job-controller", "deployment-controller")
    assert [configuration.assignment(find(name)) for name in names] == [
        Assignment.MIGRATED, Assignment.UNOWNED, Assignment.MAIN,
    ]  # fmt: skip


def test_page_names_all_flags_that_are_refused():
    rows = [flag for table in (API_SERVER_FLAGS, SCHEDULER_FLAGS) for group in table.values() for flag in group]
    for flag in rows:
        if flag.refused:
            assert f"`--{flag.name}`" in PAGE
