"""Encryption at rest: ``EncryptedStore`` around any store, with the providers and formats of kube-apiserver.

Promises:

* Values are encrypted by the first provider that the configuration lists for their resource, and decrypted by any of them.
* The key of a value is authenticated with it (not by ``aescbc`` and ``secretbox``, as upstream): a value that was copied to
  another key cannot be decrypted.
* A value that no provider decrypts is reported as unreadable, never as absent or encrypted.
* Values of resources outside of the configuration, and data of no resource, are stored unencrypted.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/value, staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig.
"""
