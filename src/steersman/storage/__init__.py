"""Key-value store with revisions and watches, the API server's equivalent of etcd; no Kubernetes concepts.

``store`` defines the protocol and its guarantees, which every implementation keeps and ``tests/conformance/storage``
checks:

* one revision per write, strictly increasing, never reused, not even after a crash;
* durable before acknowledged (``sqlite``: survives SIGKILL and power loss; ``memory``: as long as the process);
* atomic: all operations of a transaction or none, each guarded by the key's revision;
* every watcher receives every event of its prefix once, in revision order, a revision in one batch, and before ``txn``
  returns to the writer;
* history is bounded by time and size; reading compacted history raises ``Compacted``, never an incomplete result;
* a failure is reported to exactly the callers whose write was not stored, and leaves the stored state unchanged.

Squashed prefixes (``squash_prefixes``) are the exception for heartbeats: keys that are overwritten frequently and whose
history is not needed. Overwriting a key there leaves no history, so that

* reading the history of a squashed prefix (or of a prefix that contains one) raises ``Compacted`` for every revision
  before its last overwrite, which is the prefix's own compact revision;
* a watch from the past omits events whose value has been overwritten since; the key's last write replaces them (its
  ``create_revision`` may then be in the watched past, too);
* live watchers are unaffected.

On etcd all writes of a transaction share one revision, no prefix is squashed, and history is kept for one to two
``--etcd-compaction-interval``.

Implementations: ``memory.MemoryStore``, ``sqlite.SqliteStore``, ``etcd.store.EtcdStore``.
"""
