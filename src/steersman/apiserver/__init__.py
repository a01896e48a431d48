"""API server: filters, endpoints, registry. Import contracts are in ``pyproject.toml``. Layers, lowest last:

``server`` · ``filters`` · ``endpoints`` · ``crd`` · ``discovery``, ``openapi`` · ``admission`` · ``registry`` ·
``authn``, ``authz`` · ``http`` · ``request``.
"""

from steersman.extras import require

require(__name__, "server")
