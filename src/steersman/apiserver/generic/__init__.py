"""The engine of resources: a generic store per resource over the watch cache, and one strategy per kind.

``strategy`` says what a kind may differ in; ``<group>/<kind>.py`` holds all that is special about one kind.
"""
