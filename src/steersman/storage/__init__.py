"""Keys, revisions and bytes: where the API server keeps its objects, with no Kubernetes in it.

``store`` holds the protocol and its promises, which every body keeps and ``tests/conformance/storage`` checks:

* one revision per transaction, strictly increasing, never reused, not even after a crash;
* durable before answered (``sqlite``: survives SIGKILL and power loss; ``memory``: as long as the process);
* atomic: all operations of a transaction or none, each guarded by the key's revision;
* every watcher gets every event of its prefix once, in revision order, a revision in one piece, and before ``txn``
  returns to the writer;
* history is bounded, by time and by size; what is gone raises ``Compacted`` and is never silently left out;
* a failure is an error to exactly those whose write was not kept, and the store serves what it served before it.

Squashed prefixes (``squash_prefixes`` of a body) are the exception that heartbeats need: keys that are overwritten
all the time and whose past nobody reads. Overwriting such a key leaves no history, so that

* reading the past of a squashed prefix (or of a prefix that contains one) raises ``Compacted`` for every revision
  before its last overwrite, which is the prefix's own compact revision;
* watching from the past leaves out an event whose value has been overwritten since; the key's last write stands for
  it (its ``create_revision`` may then lie in the watched past, too);
* live watchers notice no difference.

Bodies: ``memory.MemoryStore``, ``sqlite.SqliteStore``.
"""
