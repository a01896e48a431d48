"""Admission: what may change or refuse a write between its decoding and its storing.

Promises:

* A write pays only for the plugins that say they handle its resource and operation; which these are is worked out once.
* Mutating plugins run in upstream's order, all of them before any validating one.
* A plugin refuses by raising a ``StatusError``; any other exception is a bug and ends as a 500.
"""
