"""Options of components that depend on each other; refusals with their full text are in ``test_refusals.py``."""

import pytest

from steersman.cli.component_checks import check_controllers, check_leader_election, check_nodes
from steersman.controllers.manager.options import ManagerOptions
from steersman.controlplane.options import OptionError
from steersman.nodes.options import NodesOptions
from steersman.scheduler.options import SchedulerOptions


@pytest.mark.parametrize("options", [ManagerOptions(), SchedulerOptions()])
def test_defaults_of_leader_election_fit(options):
    check_leader_election(options)


def test_periods_do_not_matter_without_leader_election():
    check_leader_election(SchedulerOptions(leader_elect=False, leader_elect_lease_duration_seconds=1.0))


def test_node_ranges_may_be_dual_stack():
    options = {"allocate_node_cidrs": True, "cluster_cidr": "10.244.0.0/16,fd00:10:244::/48"}
    check_controllers(ManagerOptions(**options))
    with pytest.raises(OptionError, match="--allocate-node-cidrs: usage of --node-cidr-mask-size is not allowed"):
        check_controllers(ManagerOptions(**options, node_cidr_mask_size=24))


def test_kubelet_files_are_all_given_or_none(tmp_path):
    file = tmp_path / "file"
    check_nodes(NodesOptions())
    file.touch()
    files = {"kubelet_certificate_file": file, "kubelet_key_file": file, "kubelet_client_ca_file": file}
    check_nodes(NodesOptions(**files))
    with pytest.raises(OptionError, match="--kubelet-client-ca-file: cannot read"):
        check_nodes(NodesOptions(**files | {"kubelet_client_ca_file": tmp_path / "none"}))
