"""``Store`` on etcd, for several API servers and more than one machine. Needs the extra ``steersman[etcd]``.

``members`` connects, ``client`` requests, ``messages`` encodes and decodes, ``event_log`` follows all revisions,
``compaction`` takes turns with the other servers, ``store`` puts them together. Imported only when etcd is asked for.
"""
