"""How far a reflector has read."""

from steersman.client.position import Position


def listed(version):
    position = Position()
    position.listed(version)
    return position


def test_nothing_is_known_before_the_first_list():
    position = Position()
    assert (position.known, position.newest, position.has_reached("1")) == (False, "", False)


def test_what_a_list_holds_is_not_news():
    position = listed("5")
    assert (position.is_repeated("5"), position.is_repeated("6"), position.complete) == (True, False, "5")


def test_a_watch_goes_on_just_before_the_last_change():
    position = listed("5")
    position.reached_event("9")
    assert (position.complete, position.newest) == ("8", "9")
    assert (position.is_repeated("8"), position.is_repeated("9")) == (True, False)


def test_a_bookmark_completes_its_version():
    position = listed("5")
    position.reached_event("9")
    position.reached_bookmark("9")
    assert (position.complete, position.is_repeated("9")) == ("9", True)


def test_an_old_bookmark_does_not_lead_back():
    position = listed("5")
    position.reached_bookmark("4")
    position.reached_bookmark("")
    assert position.newest == "5"


def test_a_new_list_may_lead_back():
    position = listed("50")
    position.forget()
    assert (position.known, position.newest) == (False, "50")
    position.listed("7")
    assert (position.complete, position.newest) == ("7", "7")


def test_versions_that_are_no_numbers_are_taken_as_they_are():
    position = listed("abc")
    assert not position.is_repeated("abd")
    position.reached_event("abd")
    assert (position.complete, position.has_reached("abd"), position.has_reached("abc")) == ("abd", True, False)


def test_what_was_written_is_seen_once_the_cache_is_as_new():
    position = listed("5")
    assert (position.has_reached("5"), position.has_reached("6")) == (True, False)
