"""Options of the controller manager."""

from __future__ import annotations

from steersman.controllers.manager.options import ManagerOptions
from steersman.controllers.options import ControllerOptions


def test_manager_options_include_controller_options():
    assert set(ControllerOptions.__struct_fields__) <= set(ManagerOptions.__struct_fields__)


def test_leader_election_is_on_by_default():
    options = ManagerOptions()
    assert (options.leader_elect, options.leader_elect_resource_namespace, options.leader_elect_resource_name) == (
        True, "kube-system", "kube-controller-manager",
    )  # fmt: skip
