"""Authorization of one API server: authorizers of the options or of a configuration file, and their webhooks.

Upstream: pkg/kubeapiserver/authorizer, pkg/kubeapiserver/options/authorization.go
"""
