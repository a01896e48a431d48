"""What no owner holds any more goes (``garbage-collector-controller``).

``graph`` knows who owns whom, ``plan`` says what that means for one object, ``controller`` hears of changes and acts.
"""
