"""Built-in types and resources, and decoding of object trees with Go's semantics.

Between ``apimachinery`` and its users (API server, client, scheduler); reads ``schema/generated``, which ``codegen/``
writes. Promises: pure (no clock, loop or randomness); tables are loaded on first use; loaded values are immutable and
may be shared; decoding never mutates the given tree.
"""
