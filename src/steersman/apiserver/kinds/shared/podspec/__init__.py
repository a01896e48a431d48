"""What every kind with a pod in it shares: pods, pod templates, the workloads that carry a template.

``defaults``: what a pod spec gets when it is left out. ``volumes``: the same for volumes. ``resources``: requests, limits
and the QoS class. ``images``: how an image's name is read. All are pure functions over trees; they change what they are
given and never look anything up.
"""
