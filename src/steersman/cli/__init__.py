"""Commands. ``main`` picks one; a command's module is loaded only when it is called, as start time counts."""
