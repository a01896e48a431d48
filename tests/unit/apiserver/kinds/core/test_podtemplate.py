"""PodTemplates."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, template, tree

from steersman.apiserver.kinds.core.podtemplate import PodTemplateStrategy

KIND = PodTemplateStrategy()


def test_default_sets_pod_defaults_of_template():
    spec = {"containers": [{"name": "c", "image": "i"}]}
    assert defaulted(KIND, tree(template={"spec": spec}))["template"]["spec"] == template()["spec"]


def test_default_is_idempotent():
    assert is_idempotent(KIND, tree(template=template()))
    assert is_idempotent(KIND, tree())


def test_validate_reports_errors_under_template():
    obj = tree(template=template(containers=[]))
    assert error_texts(KIND.validate(context(), obj)) == ["template.spec.containers: Required value"]
    assert error_texts(KIND.validate_update(context(), obj, obj)) == ["template.spec.containers: Required value"]


def test_generation_view_follows_template():
    assert KIND.has_generation
    assert KIND.generation_view(tree(template={"a": 1})) == {"a": 1}


def test_prepare_for_create_has_no_status():
    obj = tree(template=template())
    KIND.prepare_for_create(context(), obj)
    KIND.prepare_for_update(context(), obj, tree(status={"s": 1}))
    assert obj == tree(template=template())


def test_cells_show_containers_images_and_labels():
    assert [column.name for column in KIND.columns] == ["Name", "Containers", "Images", "Pod Labels"]
    assert KIND.cells(tree(template=template()), NOW) == ["a", "c", "i", "x=y"]
    assert KIND.cells(tree(), NOW) == ["a", "", "", "<none>"]


def test_warnings_skip_name():
    assert list(KIND.warnings(context(), tree({"name": "a.b"}, template=template()), None)) == []
