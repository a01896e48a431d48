from __future__ import annotations

import pytest

from steersman.apiserver.registry.batch.schedule import ScheduleError, check_schedule, load_zone


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/5 0-6/2 1,15 jan-MAR sun",
        "? ? ? ? ?",
        "0 0 1 1 6",
        "@hourly",
        "@yearly",
        "@every 1h30m",
        "TZ=Europe/Berlin 0 0 * * *",
        "CRON_TZ=UTC @daily",
        "  0   0 * * *  ",
    ],
)
def test_what_is_a_schedule(text):
    check_schedule(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@monthy", "unrecognized descriptor: @monthy"),
        ("@every day", 'failed to parse duration @every day: time: invalid duration "day"'),
        ("TZ=Nowhere/Else * * * * *", "provided bad location Nowhere/Else: unknown time zone Nowhere/Else"),
    ],
)
def test_what_is_none_and_why(text, fault):
    with pytest.raises(ScheduleError) as caught:
        check_schedule(text)
    assert str(caught.value) == fault


def test_a_zone_that_nobody_knows():
    with pytest.raises(ScheduleError, match=r"^unknown time zone Mars$"):
        load_zone("Mars")


def test_a_zone_is_found_by_its_name():
    assert load_zone("Asia/Tokyo").key == "Asia/Tokyo"
