"""Generator of `src/steersman/schema/generated/` from the pinned PyPI packages and `overlay/`.

`python -m codegen` writes the tree, `python -m codegen --check` fails when it is out of date. Nothing here is imported
at run time. Only facts are taken (names, types, keys, verbs), never upstream's prose.
"""
