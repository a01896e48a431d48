"""Secrets."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, is_idempotent, told, tree

from steersman.apiserver.kinds.core.secret.strategy import SecretStrategy

KIND = SecretStrategy()


def test_text_goes_into_the_data_and_is_not_kept():
    assert defaulted(KIND, tree(stringData={"k": "vé"})) == tree(data={"k": "dsOp"}, type="Opaque")


def test_text_beats_data():
    assert defaulted(KIND, tree(data={"k": "b2xk", "o": "eA=="}, stringData={"k": "new"}))["data"] == {
        "k": "bmV3",
        "o": "eA==",
    }


def test_without_text_no_data_is_made_up():
    assert defaulted(KIND, tree(stringData={})) == tree(type="Opaque")


def test_defaulting_again_changes_nothing():
    assert is_idempotent(KIND, tree(stringData={"k": "v"}))
    assert is_idempotent(KIND, tree(type="a/b", data={"k": "dg=="}))


def test_types_can_be_selected_and_do_not_change():
    assert KIND.field_labels["type"](tree(type="a/b")) == "a/b"
    assert told(KIND.validate_update(context(), tree(type="b/b"), tree(type="a/b"))) == [
        'type: Invalid value: "b/b": field is immutable'
    ]


def test_the_row_shows_no_data():
    assert [column.name for column in KIND.columns] == ["Name", "Type", "Data", "Age"]
    assert KIND.cells(tree(type="Opaque", data={"k": "dg=="}), NOW) == ["a", "Opaque", 1, "60s"]


def test_pairs_that_do_not_fit_are_warned_about():
    secret = tree(type="kubernetes.io/tls", data={"tls.crt": "", "tls.key": ""})
    assert KIND.warnings(context(), secret, None) == ["tls: failed to find any PEM data in certificate input"]
