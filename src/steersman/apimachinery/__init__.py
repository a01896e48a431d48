"""Pure rules shared by all components: names, quantities, selectors, patches, server-side apply, Status errors.

Lowest layer beside ``asynckit``; imports no other package of ``steersman``. Promises, checked by the tests:

* no clock, loop, randomness or socket: functions take these as parameters;
* nothing mutates its arguments unless its name says so;
* every rejection is a ``StatusError`` or a list of ``FieldError`` with upstream's texts.
"""
