"""Base strategy of RBAC kinds."""

import pytest

from steersman.apiserver.kinds.rbac.clusterrole import ClusterRoleStrategy
from steersman.apiserver.kinds.rbac.clusterrolebinding import ClusterRoleBindingStrategy
from steersman.apiserver.kinds.rbac.role import RoleStrategy
from steersman.apiserver.kinds.rbac.rolebinding import RoleBindingStrategy

ALL = [RoleStrategy, ClusterRoleStrategy, RoleBindingStrategy, ClusterRoleBindingStrategy]


@pytest.mark.parametrize("kind", ALL)
def test_name_errors_accept_any_path_segment(kind):
    assert not kind().name_errors("system:node-Proxier")
    assert list(kind().name_errors("a/b")) == ["may not contain '/'"]


@pytest.mark.parametrize("kind", ALL)
def test_put_to_missing_name_creates(kind):
    assert kind.allow_create_on_update
