"""What is served, told to clients: ``/api``, ``/apis``, group and version documents, and the aggregated form.

``catalog`` knows which resources there are at the moment (built-in and custom), ``documents`` says it in the wire forms,
``handlers`` negotiates and caches.
"""
