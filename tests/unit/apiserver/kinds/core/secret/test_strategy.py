"""Strategy of Secrets."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, tree

from steersman.apiserver.kinds.core.secret.strategy import SecretStrategy

KIND = SecretStrategy()


def test_default_merges_string_data_into_data():
    assert defaulted(KIND, tree(stringData={"k": "vé"})) == tree(data={"k": "dsOp"}, type="Opaque")


def test_default_prefers_string_data_over_data():
    assert defaulted(KIND, tree(data={"k": "b2xk", "o": "eA=="}, stringData={"k": "new"}))["data"] == {
        "k": "bmV3",
        "o": "eA==",
    }


def test_default_creates_no_data_without_string_data():
    assert defaulted(KIND, tree(stringData={})) == tree(type="Opaque")


def test_default_is_idempotent():
    assert is_idempotent(KIND, tree(stringData={"k": "v"}))
    assert is_idempotent(KIND, tree(type="a/b", data={"k": "dg=="}))


def test_type_is_selectable_and_immutable():
    assert KIND.field_labels["type"](tree(type="a/b")) == "a/b"
    assert error_texts(KIND.validate_update(context(), tree(type="b/b"), tree(type="a/b"))) == [
        'type: Invalid value: "b/b": field is immutable'
    ]


def test_cells_show_no_data():
    assert [column.name for column in KIND.columns] == ["Name", "Type", "Data", "Age"]
    assert KIND.cells(tree(type="Opaque", data={"k": "dg=="}), NOW) == ["a", "Opaque", 1, "60s"]


def test_warnings_about_mismatched_tls_pair():
    secret = tree(type="kubernetes.io/tls", data={"tls.crt": "", "tls.key": ""})
    assert KIND.warnings(context(), secret, None) == ["tls: failed to find any PEM data in certificate input"]
