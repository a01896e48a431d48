"""Entry points of the group ``steersman.controllers``."""

from __future__ import annotations

import sys

import pytest
from tests.installed import install

from steersman.controllers.entry_points import RegistryError, installed_controllers


def test_installed_controllers_are_read_from_metadata_without_imports(site):
    install(site, "acme_b", b_controller="Idle", text="raise AssertionError('imported')")
    install(site, "acme_a", a_controller="Idle")
    result = installed_controllers()
    assert [(item.name, item.package) for item in result] == [
        ("a-controller", "acme_a 1.0"),
        ("b-controller", "acme_b 1.0"),
    ]
    assert not {"acme_a", "acme_b"} & set(sys.modules)


@pytest.mark.parametrize("target", ["Idle", "nothing"])
def test_load_returns_a_class_or_a_function(site, target):
    install(site, "acme", idle_controller=target)
    (result,) = installed_controllers()
    assert result.load() is getattr(sys.modules["acme"], target)


@pytest.mark.parametrize(
    ("target", "text", "reason"),
    [
        ("Missing", "", "cannot be loaded: AttributeError: module 'acme' has no attribute 'Missing'"),
        ("Idle", "import no_such_module", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("Idle", "class", "cannot be loaded: SyntaxError"),
        ("Idle", "1 / 0", "cannot be loaded: ZeroDivisionError"),
        ("number", "number = 1", "is not callable; expected a subclass of steersman.runtime.Controller or a function"),
    ],
)
def test_load_names_package_and_reason_of_a_broken_entry_point(site, target, text, reason):
    install(site, "acme", idle_controller=target, text=text)
    (result,) = installed_controllers()
    with pytest.raises(RegistryError) as raised:
        result.load()
    assert str(raised.value).startswith(f"controller idle-controller of acme 1.0: acme:{target} ")
    assert reason in str(raised.value)


def test_installed_controllers_rejects_a_name_that_is_reserved(site):
    install(site, "acme", job_controller="Idle")
    with pytest.raises(RegistryError, match=r"job-controller of acme 1\.0: Steersman has a controller of that name"):
        installed_controllers({"job-controller"})


def test_installed_controllers_rejects_a_name_of_two_packages(site):
    install(site, "acme", same_controller="Idle")
    install(site, "other", same_controller="Idle")
    with pytest.raises(RegistryError, match=r"same-controller: more than one package has it: acme 1\.0, other 1\.0"):
        installed_controllers()


@pytest.mark.parametrize("name", ["*", "-idle", "Idle", "a,b"])
def test_installed_controllers_rejects_names_that_the_flag_cannot_take(site, name):
    install(site, "acme")
    (site / "acme-1.0.dist-info" / "entry_points.txt").write_text(f"[steersman.controllers]\n{name} = acme:Idle\n")
    with pytest.raises(RegistryError, match="is no DNS subdomain"):
        installed_controllers()


def test_installed_controllers_is_empty_without_packages(site):
    assert installed_controllers() == ()
