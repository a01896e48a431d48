"""Encryption at rest: ``EncryptedStore`` around any store, with the providers and formats of kube-apiserver.

Promises:

* Values are encrypted by the first provider that the configuration lists for their resource, and decrypted by any of them.
* The key of a value is authenticated with it (not by ``aescbc`` and ``secretbox``, as upstream): a value that was copied to
  another key cannot be decrypted.
* A value that no provider decrypts is present and unreadable, never absent and never shown as it is.
* Keys of resources that the configuration does not name, and of data that is no resource, are stored as they are.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/value, staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig.
"""
