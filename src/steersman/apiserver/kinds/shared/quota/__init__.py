"""Quota usage of objects: evaluators and amounts.

Pure; the ResourceQuota admission plugin and the quota controller use it.
"""
