from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from steersman.apimachinery.schedules import ScheduleError, load_zone, parse_schedule


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
def test_parse_schedule_accepts_valid_schedules(text):
    parse_schedule(text)


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
def test_parse_schedule_rejects_with_a_reason(text, fault):
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(text)
    assert str(caught.value) == fault


def test_load_zone_raises_for_an_unknown_zone():
    with pytest.raises(ScheduleError, match=r"^unknown time zone Mars$"):
        load_zone("Mars")


def test_load_zone_returns_a_zone_by_name():
    assert load_zone("Asia/Tokyo").key == "Asia/Tokyo"


NEW_YORK = load_zone("America/New_York")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after", "following"),
    [
        ("* * * * *", "2026-01-01T00:00:30", "2026-01-01T00:01:00"),
        ("* * * * *", "2026-01-01T00:00:00", "2026-01-01T00:01:00"),
        ("*/15 * * * *", "2026-01-01T00:50:00", "2026-01-01T01:00:00"),
        ("10/20 * * * *", "2026-01-01T00:30:00", "2026-01-01T00:50:00"),
        ("0 0 29 2 *", "2025-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 9 * * mon-fri", "2026-01-02T10:00:00", "2026-01-05T09:00:00"),
        ("0 0 1 * sun", "2026-01-01T00:00:00", "2026-01-04T00:00:00"),
        ("0 0 */1 * sun", "2026-01-01T00:00:00", "2026-01-04T00:00:00"),
        ("0 0 */2 * sun", "2026-01-01T00:00:00", "2026-01-03T00:00:00"),
        ("@monthly", "2026-12-05T00:00:00", "2027-01-01T00:00:00"),
        ("@every 1h30m", "2026-01-01T00:00:00", "2026-01-01T01:30:00"),
        ("@every 10ms", "2026-01-01T00:00:00", "2026-01-01T00:00:01"),
        ("TZ=Asia/Tokyo 0 0 * * *", "2026-01-01T00:00:00", "2026-01-01T15:00:00"),
    ],
)
def test_next_returns_the_next_time(text, after, following):
    assert parse_schedule(text).next(at(after)) == at(following)


def test_next_is_none_when_the_schedule_never_occurs():
    assert parse_schedule("0 0 31 2 *").next(at("2026-01-01T00:00:00")) is None


@pytest.mark.parametrize("text", ["* * * * *", "0 0 31 12 *", "@every 1h"])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_next_stays_within_the_calendar(text, zone):
    schedule = parse_schedule(text, zone=load_zone(zone))
    assert schedule.next(datetime.max.replace(tzinfo=UTC)) is None
    assert schedule.next(datetime.min.replace(tzinfo=UTC)) > datetime.min.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after", "starts"),
    [
        # Clocks go from 2 to 3 on 10 March 2024 …
        ("30 2 * * *", "2024-03-09T12:00:00", ["2024-03-11T06:30:00", "2024-03-12T06:30:00"]),
        ("0 * * * *", "2024-03-10T06:30:00", ["2024-03-10T07:00:00", "2024-03-10T08:00:00"]),
        ("0 0 * * *", "2024-03-10T05:00:00", ["2024-03-11T04:00:00", "2024-03-12T04:00:00"]),
        # … and from 2 back to 1 on 3 November.
        ("30 1 * * *", "2024-11-02T12:00:00", ["2024-11-03T05:30:00", "2024-11-03T06:30:00"]),
    ],
)
def test_next_at_clock_changes(text, after, starts):
    schedule = parse_schedule(text, zone=NEW_YORK)
    first = schedule.next(at(after))
    assert [first, schedule.next(first)] == [at(start) for start in starts]


@pytest.mark.parametrize("minutes", ["0", "30", "*/7", "59"])
@pytest.mark.parametrize(
    ("zone", "after"),
    [
        ("Australia/Lord_Howe", "2024-10-05T14:00:00"),  # from 2:00 to 2:30
        ("Australia/Lord_Howe", "2024-04-06T13:00:00"),  # from 2:00 back to 1:30
        ("America/St_Johns", "2010-03-14T01:00:00"),  # from 0:01 to 1:01
        ("America/St_Johns", "2010-11-07T01:00:00"),  # from 0:01 back to 23:01
    ],
)
def test_next_misses_no_minute_at_clock_changes(zone, after, minutes):
    schedule, time_zone = parse_schedule(f"{minutes} * * * *", zone=load_zone(zone)), load_zone(zone)
    every = [at(after) + timedelta(minutes=number) for number in range(1, 300)]
    matching = {int(text) for text in minutes.split()} if minutes.isdigit() else set(range(0, 60, 7))
    expected = [moment for moment in every if moment.astimezone(time_zone).minute in matching]
    times = [schedule.next(at(after))]
    while len(times) < len(expected):
        times.append(schedule.next(times[-1]))
    assert times == expected
