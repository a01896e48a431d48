"""Authentication of one API server: authenticators of the options, keys of service account tokens, token webhook, JWT.

Upstream: pkg/kubeapiserver/authenticator, pkg/kubeapiserver/options/authentication.go
"""
