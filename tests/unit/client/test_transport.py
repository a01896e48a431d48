"""Requests as they go over the wire."""

from steersman.client.transport import Request, TransportError


def test_path_and_query_are_encoded_once():
    request = Request("GET", "/api/v1/pods/a b", (("labelSelector", "app in (a,b)"), ("watch", "true")))
    assert request.target == "/api/v1/pods/a%20b?labelSelector=app+in+%28a%2Cb%29&watch=true"


def test_names_of_roles_keep_their_colons():
    assert Request("GET", "/apis/x/clusterroles/system:node").target == "/apis/x/clusterroles/system:node"


def test_an_error_says_whether_anything_was_sent():
    assert not TransportError("reset").before_sending
    assert TransportError("refused", before_sending=True).before_sending
