"""Formats of texts."""

import pytest

from steersman.schema.openapi_formats import fits, has_room, is_known


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("bsonobjectid", ["507f1f77bcf86cd799439011"], ["507f"]),
        ("uri", ["http://a.b/c?d=e", "/path", "mailto:a@b", "*"], ["", "x y", "a/b", "http://a b/", "/%zz"]),
        ("email", ["a@b", "a.b@c.example", "Ann <a@b.c>"], ["", "a", "a@", "a b@c"]),
        ("hostname", ["a", "a.example", "1.example.com", "ä.example"], ["-a", "a..b", "a" * 64 + ".b.cc", "a_b"]),
        ("ipv4", ["1.2.3.4"], ["1.2.3", "::1", "01.2.3.4"]),
        ("ipv6", ["::1", "::ffff:1.2.3.4"], ["1.2.3.4", "::1%eth0"]),
        ("cidr", ["1.2.3.4/8", "::/0"], ["1.2.3.4", "1.2.3.4/33", "1.2.3.4/255.0.0.0"]),
        ("mac", ["00:00:5e:00:53:01", "00-00-5e-00-53-01", "0000.5e00.5301"], ["00:00:5e", "00:00-5e:00:53:01"]),
        ("uuid", ["7d444840-9dc0-11d1-b245-5ffdce74fad2", "7D4448409DC011D1B2455FFDCE74FAD2"], ["x"]),
        ("uuid4", ["7d444840-9dc0-41d1-b245-5ffdce74fad2"], ["7d444840-9dc0-11d1-b245-5ffdce74fad2"]),
        ("isbn", ["0-306-40615-2", "978-0-306-40615-7"], ["0-306-40615-3", "1"]),
        ("creditcard", ["4111 1111 1111 1111"], ["4111 1111 1111 1112", "1"]),
        ("ssn", ["111-22-3333"], ["111223333", "x"]),
        ("hexcolor", ["#fff", "00ff00"], ["#ffff"]),
        ("rgbcolor", ["rgb(0, 128,255)"], ["rgb(0,0,256)"]),
        ("byte", ["YWJj", "YQ=="], ["", "&&", "YQ"]),
        ("password", ["", "x"], []),
        ("date", ["2020-02-29"], ["2019-02-29", "2020-1-1", "20200101"]),
        ("date-time", ["2020-01-01T00:00:00Z", "2020-01-01t23:59:59.5+01:00"], ["2020-01-01", "2020-01-01T24:00:00Z"]),
        ("duration", ["5m", "1h30m", "0", "2 days", "3 hours 5 minutes"], ["5q", "", "1"]),
        ("k8s-short-name", ["a-b"], ["a.b", "A"]),
        ("k8s-long-name", ["a.b"], ["A", ""]),
    ],
)
def test_fits_validates_string_formats(name, right, wrong):
    assert is_known(name)
    assert [text for text in right if not fits(name, text)] == []
    assert [text for text in wrong if fits(name, text)] == []


def test_is_known_is_false_for_number_formats_and_unknown_formats():
    assert [name for name in ("int32", "float", "colour", "") if is_known(name)] == []


@pytest.mark.parametrize(
    ("name", "numbers", "others"),
    [
        ("int32", (0, -(2**31), 2**31 - 1, 5.0), (2**31, -(2**31) - 1, 1.5, 1e10)),
        ("int64", (2**63 - 1, -(2**63), 1e18), (2**63, 1e19, float(2**63), 0.5)),
        ("float", (1.5, -3.4028234e38, 3.4028235677973362e38), (3.4028235677973366e38, -1e39)),
        ("double", (1e308, 1.5), ()),
    ],
)
def test_has_room_validates_number_formats(name, numbers, others):
    assert [number for number in numbers if not has_room(name, number)] == []
    assert [number for number in others if has_room(name, number)] == []
