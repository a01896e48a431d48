"""``Store`` on etcd, for several API servers and more than one machine. Needs the extra ``steersman[etcd]``.

``members`` connects, ``client`` requests, ``messages`` encodes and decodes, ``event_log`` follows all revisions,
``compaction`` coordinates with the other servers, ``store`` combines them. Imported only if etcd is used.
"""
