from __future__ import annotations

from steersman.apiserver.admission.validating_policy_input import namespace_object


def test_namespace_object_has_selected_fields():
    namespace = {"metadata": {"name": "a", "managedFields": []}, "status": {"phase": "Active"}}
    assert namespace_object(namespace) == {"metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Active"}}
    assert namespace_object(None) is None
