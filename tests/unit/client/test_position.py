"""Progress of a reflector."""

from steersman.client.position import Position


def listed(version):
    position = Position()
    position.listed(version)
    return position


def test_position_is_empty_before_the_first_list():
    position = Position()
    assert (position.can_resume, position.newest, position.has_reached("1")) == (False, "", False)


def test_is_repeated_for_versions_of_the_list():
    position = listed("5")
    assert (position.is_repeated("5"), position.is_repeated("6"), position.complete) == (True, False, "5")


def test_complete_is_just_before_the_last_event():
    position = listed("5")
    position.reached_event("9")
    assert (position.complete, position.newest) == ("8", "9")
    assert (position.is_repeated("8"), position.is_repeated("9")) == (True, False)


def test_reached_bookmark_completes_its_version():
    position = listed("5")
    position.reached_event("9")
    position.reached_bookmark("9")
    assert (position.complete, position.is_repeated("9")) == ("9", True)


def test_reached_bookmark_ignores_older_versions():
    position = listed("5")
    position.reached_bookmark("4")
    position.reached_bookmark("")
    assert position.newest == "5"


def test_listed_may_decrease_the_version():
    position = listed("50")
    position.forget()
    assert (position.can_resume, position.newest) == (False, "50")
    position.listed("7")
    assert (position.complete, position.newest) == ("7", "7")


def test_opaque_versions_are_resumed_unchanged():
    position = listed("abc")
    assert not position.is_repeated("abd")
    position.reached_event("abd")
    assert (position.complete, position.has_reached("abd"), position.has_reached("abc")) == ("abd", True, False)


def test_has_reached_compares_with_the_newest_version():
    position = listed("5")
    assert (position.has_reached("5"), position.has_reached("6")) == (True, False)
