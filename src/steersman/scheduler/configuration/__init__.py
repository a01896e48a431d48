"""``KubeSchedulerConfiguration`` of ``kubescheduler.config.k8s.io/v1``, the file of ``--config``.

``model`` declares its fields and decodes it strictly, ``plugin_sets`` resolves enabled and disabled plugins,
``plugin_args`` holds plugin arguments with defaults, ``validation`` validates, ``settings`` is the result. ``reading``
combines them; only its ``read`` does I/O.
"""
