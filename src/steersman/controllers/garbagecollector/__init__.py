"""Garbage collection of objects whose owners do not exist (``garbage-collector-controller``).

``graph`` tracks owners and dependents, ``plan`` decides for one object, ``controller`` observes changes and acts.
"""
