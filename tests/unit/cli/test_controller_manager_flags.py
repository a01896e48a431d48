"""Table of the flags of kube-controller-manager; ``test_upstream_flags`` compares it with upstream's."""

from __future__ import annotations

from steersman.cli.controller_manager_flags import CONTROLLER_MANAGER_FLAGS
from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.registry import find

#: Groups that are no controllers.
SHARED = {
    "debugging", "leader-migration", "generic", "secure serving", "authentication", "authorization", "metrics", "logs",
    "misc", "steersman",
}  # fmt: skip


def test_options_have_one_flag_each():
    targets = [flag.target for rows in CONTROLLER_MANAGER_FLAGS.values() for flag in rows]
    assert len(targets) == len(set(targets))
    assert set(ManagerOptions.__struct_fields__) <= set(targets)


def test_groups_are_named_by_controllers():
    assert [title for title in CONTROLLER_MANAGER_FLAGS if title not in SHARED and find(title) is None] == []
