"""ConfigMap extension-apiserver-authentication."""

from steersman.controlplane.bootstrap.authentication_config import AuthenticationInfo, plan_config

ONE = "-----BEGIN CERTIFICATE-----\none\n-----END CERTIFICATE-----\n"
TWO = "-----BEGIN CERTIFICATE-----\ntwo\n-----END CERTIFICATE-----\n"
INFO = AuthenticationInfo(client_ca=ONE, request_header_client_ca=TWO)


def test_config_is_created_with_upstreams_keys():
    assert plan_config(None, INFO)["data"] == {
        "client-ca-file": ONE,
        "requestheader-client-ca-file": TWO,
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-allowed-names": '["front-proxy-client"]',
    }


def test_plan_config_is_none_when_up_to_date():
    plan = plan_config(None, INFO)
    assert plan_config(plan, INFO) is None


def test_plan_config_keeps_settings_of_other_servers():
    plan = plan_config(None, INFO)
    joined = plan_config(
        plan, AuthenticationInfo(client_ca=TWO, request_header_client_ca=TWO, allowed_names=("other",))
    )
    assert joined["data"]["client-ca-file"] == ONE + TWO
    assert joined["data"]["requestheader-allowed-names"] == '["front-proxy-client","other"]'


def test_plan_config_omits_request_headers_without_aggregator():
    assert list(plan_config(None, AuthenticationInfo(client_ca=ONE))["data"]) == ["client-ca-file"]


def test_config_is_repaired_after_a_change():
    plan = plan_config(None, INFO)
    plan["data"] |= {"requestheader-allowed-names": "nonsense", "client-ca-file": "nonsense"}
    repaired = plan_config(plan, INFO)["data"]
    assert (repaired["client-ca-file"], repaired["requestheader-allowed-names"]) == (ONE, '["front-proxy-client"]')
