"""The Common Expression Language: parser, type checker and evaluator, with the function libraries of Kubernetes.

``compile_expression`` compiles an expression in an ``Environment``; the resulting ``Program`` can be evaluated any
number of times. Semantics, costs and error messages are cel-go's, as used by Kubernetes 1.36.
"""
