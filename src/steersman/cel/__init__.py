"""The Common Expression Language: parsed, type-checked and evaluated, with the functions that Kubernetes adds.

``compile_expression`` reads an expression in an ``Environment``; the ``Program`` that comes of it can be evaluated any
number of times. Semantics, costs and error texts are cel-go's, as Kubernetes 1.36 uses it.
"""
