"""Pods that nobody else can end are ended (``pod-garbage-collector-controller``).

Pods of Nodes that are gone, pods that are deleted before they had a Node, deleted pods on Nodes that are out of service,
and ended pods beyond a number.
"""
