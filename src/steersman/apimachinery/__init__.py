"""The rules that every part of the API machinery shares, as pure functions of their arguments.

Promises, checked by the tests:

* no clock, loop, dice or socket: what a function needs of these comes in through a parameter;
* nothing mutates its arguments unless its name says so;
* every refusal is a ``StatusError`` or a ``FieldError`` list with the texts that Kubernetes clients know.
"""
