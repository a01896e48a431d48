"""PodTemplates."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, is_idempotent, template, told, tree

from steersman.apiserver.kinds.core.podtemplate import PodTemplateStrategy

KIND = PodTemplateStrategy()


def test_the_template_gets_its_defaults():
    spec = {"containers": [{"name": "c", "image": "i"}]}
    assert defaulted(KIND, tree(template={"spec": spec}))["template"]["spec"] == template()["spec"]


def test_defaulting_again_changes_nothing():
    assert is_idempotent(KIND, tree(template=template()))
    assert is_idempotent(KIND, tree())


def test_faults_are_told_under_the_template():
    obj = tree(template=template(containers=[]))
    assert told(KIND.validate(context(), obj)) == ["template.spec.containers: Required value"]
    assert told(KIND.validate_update(context(), obj, obj)) == ["template.spec.containers: Required value"]


def test_the_template_counts_for_the_generation():
    assert KIND.has_generation
    assert KIND.generation_view(tree(template={"a": 1})) == {"a": 1}


def test_there_is_no_status_to_drop():
    obj = tree(template=template())
    KIND.prepare_for_create(context(), obj)
    KIND.prepare_for_update(context(), obj, tree(status={"s": 1}))
    assert obj == tree(template=template())


def test_the_row_tells_containers_images_and_labels():
    assert [column.name for column in KIND.columns] == ["Name", "Containers", "Images", "Pod Labels"]
    assert KIND.cells(tree(template=template()), NOW) == ["a", "c", "i", "x=y"]
    assert KIND.cells(tree(), NOW) == ["a", "", "", "<none>"]


def test_names_of_templates_are_not_warned_about():
    assert list(KIND.warnings(context(), tree({"name": "a.b"}, template=template()), None)) == []
