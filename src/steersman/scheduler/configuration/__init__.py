"""What ``--config`` tells the scheduler: a ``KubeSchedulerConfiguration``, ``kubescheduler.config.k8s.io/v1``.

``settings`` is what it comes to, ``model`` what the file may hold and how it is read (strictly), ``plugin_sets`` which plugins
there are and what enabling and disabling them comes to, ``plugin_args`` what they can be told, ``validation`` what makes no
sense. All of it is pure; ``reading`` puts it together.
"""
