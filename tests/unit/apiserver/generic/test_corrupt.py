from __future__ import annotations

from steersman.apiserver.generic.corrupt import corrupt_list, corrupt_object


def test_corrupt_object_is_an_internal_error_that_names_the_key():
    status = corrupt_object("/registry/pods/ns/a").status
    assert (status["code"], status["reason"]) == (500, "InternalError")
    assert status["message"] == (
        "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /registry/pods/ns/a, ResourceVersion: 0, "
        "AdditionalErrorMsg: object not decodable: the stored data is damaged"
    )


def test_corrupt_list_names_a_hundred_keys_at_most():
    status = corrupt_list("deployments.apps", [f"/k/{number}" for number in range(101)]).status
    assert status["message"] == "failed to read one or more deployments.apps from the storage"
    details = status["details"]
    assert (details["name"], details["group"], details["kind"]) == ("list", "apps", "deployments")
    assert len(details["causes"]) == 101
    assert details["causes"][100] == {
        "reason": "FieldValueTooMany",
        "message": "too many errors, the list is truncated",
    }
