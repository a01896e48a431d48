"""Custom resources: from a CustomResourceDefinition to a resource that is served like a built-in one.

``definition`` reads a definition, ``structure`` fills and prunes objects by schema,
``strategy`` is their kind's strategy (``schema.openapi_values`` checks them), ``naming`` decides which names are
accepted, ``serving`` watches definitions and makes all of it happen.
"""
