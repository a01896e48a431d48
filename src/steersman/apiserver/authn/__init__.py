"""Who asks: client certificates, bearer tokens, nobody.

``interface`` says what an authenticator is, ``union`` asks one after the other as kube-apiserver does: the first that
knows the caller wins; credentials that nobody knows are a 401 even where anybody may read; no credentials are
``system:anonymous``. Everybody known is in ``system:authenticated`` too.
"""
