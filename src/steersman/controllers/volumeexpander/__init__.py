"""Claims that ask for more than their volume has are told who will see to it (``persistentvolume-expander-controller``)."""
