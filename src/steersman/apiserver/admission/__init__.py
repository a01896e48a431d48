"""Admission control: plugins that mutate or reject a write after decoding and before storage.

Guarantees:

* A write calls only the plugins that handle its resource and operation; the selection is computed once.
* Mutating plugins run in upstream's order, before any validating plugin.
* A plugin rejects a write with a ``StatusError``; any other exception is a bug and results in status 500.
"""
