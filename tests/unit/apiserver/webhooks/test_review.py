"""AdmissionReviews that webhooks answer with."""

import pytest

from steersman.apiserver.webhooks.review import read_admission_review


def test_review_is_decoded():
    body = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true}}'
    review = read_admission_review(body)
    assert review.kind == "AdmissionReview"
    assert (review.response.uid, review.response.allowed) == ("u", True)


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"[]", b'{"response":{"allowed":"yes"}}'])
def test_malformed_review_is_left_to_the_strict_decoder(body):
    assert read_admission_review(body) is None
