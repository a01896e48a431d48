"""Records with key/value pairs."""

import logging

from steersman.asynckit.structured_logging import V2, V3, fields_of, log_fields


def test_log_fields_keeps_pairs_and_the_callers_line(caplog):
    caplog.set_level(V3)
    log_fields(logging.getLogger("test"), V2, "Synced", {"key": "default/web", "count": 2})
    (record,) = caplog.records
    assert (record.levelno, record.getMessage(), record.filename) == (V2, "Synced", "test_structured_logging.py")
    assert fields_of(record) == {"key": "default/web", "count": 2}


def test_fields_of_plain_records_are_none(caplog):
    logging.getLogger("test").warning("plain")
    assert fields_of(caplog.records[0]) is None


def test_verbosity_levels_lie_between_info_and_debug():
    assert logging.INFO > V2 > V3 > logging.DEBUG
