"""Discovery: ``/api``, ``/apis``, group and version documents, and aggregated discovery.

``catalog`` holds the served resources (built-in and custom), ``documents`` builds the documents, ``handlers``
negotiates and caches.
"""
