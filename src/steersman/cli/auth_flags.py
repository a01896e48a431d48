"""Flags of kube-apiserver about authentication and authorization.

Upstream: ``pkg/kubeapiserver/options/authentication.go``, ``authorization.go``.
"""

from __future__ import annotations

from typing import Final

from steersman.cli import values
from steersman.cli.flag_table import Flag

AUTHENTICATION_FLAGS: Final = (
    Flag("anonymous-auth", values.boolean, "Allow requests without credentials, as user system:anonymous"),
    Flag("api-audiences", values.names, "Audiences that tokens for this API server name (default the issuers)"),
    Flag(
        "authentication-config",
        values.path,
        "File with an AuthenticationConfiguration: issuers of JSON Web Tokens, anonymous requests; read again after changes",
    ),
    Flag(
        "authentication-token-webhook-cache-ttl",
        values.duration,
        "Time for which token reviews are cached",
    ),
    Flag(
        "authentication-token-webhook-config-file",
        values.path,
        "Kubeconfig of a webhook that reviews bearer tokens",
    ),
    Flag(
        "authentication-token-webhook-version",
        str,
        "API version of token reviews: v1 or v1beta1",
    ),
    Flag(
        "client-ca-file",
        values.path,
        "File with further certificate authorities whose client certificates are accepted",
    ),
    Flag(
        "enable-bootstrap-token-auth",
        values.boolean,
        "Accept bootstrap tokens (Secrets of type bootstrap.kubernetes.io/token in kube-system)",
    ),
    Flag("oidc-ca-file", values.path, "File with the certificate authority of the issuer (default the system's)"),
    Flag("oidc-client-id", str, "Client ID that ID tokens must be issued for"),
    Flag("oidc-groups-claim", str, "Claim used as the groups of the user"),
    Flag("oidc-groups-prefix", str, "Prefix of groups"),
    Flag("oidc-issuer-url", str, "URL of the OpenID issuer; only https is accepted"),
    Flag("oidc-required-claim", values.pairs, "name=value pairs that ID tokens must contain"),
    Flag("oidc-signing-algs", values.names, "Accepted signing algorithms of ID tokens"),
    Flag("oidc-username-claim", str, "Claim used as the user name"),
    Flag("oidc-username-prefix", str, "Prefix of user names (default the issuer URL and #); - for no prefix"),
    Flag(
        "requestheader-allowed-names",
        values.names,
        "Common names of client certificates of front proxies; empty for any",
    ),
    Flag(
        "requestheader-client-ca-file",
        values.path,
        "File with the authorities of client certificates of front proxies (default a generated one)",
    ),
    Flag(
        "requestheader-extra-headers-prefix",
        values.names,
        "Prefixes of request headers with extra values of a front proxy",
    ),
    Flag("requestheader-group-headers", values.names, "Request headers with the groups of a front proxy's user"),
    Flag("requestheader-uid-headers", values.names, "Request headers with the UID of a front proxy's user"),
    Flag("requestheader-username-headers", values.names, "Request headers with the name of a front proxy's user"),
    Flag(
        "service-account-extend-token-expiration",
        values.boolean,
        "Extend the expiration of injected service account tokens, for clients that do not reload them",
    ),
    Flag(
        "service-account-issuer",
        values.names,
        "Issuer of service account tokens; of several, the first one issues and all are accepted",
    ),
    Flag(
        "service-account-jwks-uri",
        str,
        "URL of the JSON Web Key Set in the OpenID discovery document (default on this server)",
    ),
    Flag(
        "service-account-key-file",
        values.paths,
        "Files with public or private keys that verify service account tokens (default the signing key)",
    ),
    Flag(
        "service-account-lookup",
        values.boolean,
        "Reject tokens whose account or Secret is gone",
        unused="they are always rejected",
    ),
    Flag(
        "service-account-max-token-expiration",
        values.duration,
        "Maximum validity of a service account token; 0 for no limit",
        "service_account_max_token_expiration_seconds",
    ),
    Flag(
        "service-account-signing-endpoint",
        str,
        "Path of the socket of an external signer of service account tokens; @ for the abstract namespace",
    ),
    Flag(
        "service-account-signing-key-file",
        values.path,
        "File with the private key that signs service account tokens (default a generated one)",
    ),
    Flag("token-auth-file", values.path, 'CSV file with static bearer tokens: token,user,uid,"group1,group2"'),
)

AUTHORIZATION_FLAGS: Final = (
    Flag(
        "authorization-config",
        values.path,
        "File with an AuthorizationConfiguration, in place of --authorization-mode and the --authorization-webhook flags",
    ),
    Flag(
        "authorization-mode",
        values.names,
        "Ordered list of authorizers: ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook",
    ),
    Flag(
        "authorization-policy-file",
        values.path,
        "File with policies, one JSON object per line, for the mode ABAC",
    ),
    Flag(
        "authorization-webhook-cache-authorized-ttl",
        values.duration,
        "Time for which answers of the authorization webhook that allow are cached",
    ),
    Flag(
        "authorization-webhook-cache-unauthorized-ttl",
        values.duration,
        "Time for which other answers of the authorization webhook are cached",
    ),
    Flag(
        "authorization-webhook-config-file",
        values.path,
        "Kubeconfig of the authorization webhook, for the mode Webhook",
    ),
    Flag(
        "authorization-webhook-version",
        str,
        "API version of the SubjectAccessReviews sent to the authorization webhook: v1 or v1beta1",
    ),
)
