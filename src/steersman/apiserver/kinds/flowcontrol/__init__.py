"""Strategies of ``flowcontrol.apiserver.k8s.io``: one module per kind.

``apiserver/flowcontrol`` applies the objects.
"""
