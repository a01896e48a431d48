"""Validation of the options of authentication."""

import pytest

from steersman.controlplane.authentication.options import check_authentication
from steersman.controlplane.options import APIServerOptions, OptionError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"service_account_issuer": ()}, "--service-account-issuer is a required flag"),
        ({"service_account_issuer": (":",)}, "contains a ':' but is not a valid URL"),
        ({"service_account_jwks_uri": "http://keys.test"}, '--service-account-jwks-uri: "http://keys.test" must be'),
        ({"service_account_max_token_expiration_seconds": 60}, "must be between 1 hour and 2\\^32 seconds"),
        ({"service_account_signing_endpoint": "/nowhere"}, "should be a valid location on the filesystem"),
        ({"oidc_issuer_url": "https://idp.test"}, "--oidc-issuer-url and --oidc-client-id must be specified together"),
        ({"oidc_groups_claim": "groups"}, "--oidc-groups-claim needs --oidc-issuer-url and --oidc-client-id"),
    ],
)
def test_invalid_option_is_named(options, message):
    with pytest.raises(OptionError, match=message):
        check_authentication(APIServerOptions(**options))


def test_unsupported_version_of_token_reviews_is_rejected(tmp_path):
    options = APIServerOptions(
        authentication_token_webhook_config_file=tmp_path / "config", authentication_token_webhook_version="v2"
    )
    with pytest.raises(OptionError, match='unsupported authentication webhook version "v2"'):
        check_authentication(options)
