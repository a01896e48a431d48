"""``--merge`` and its undoing."""

import pytest
import yaml

from steersman.controlplane.kubeconfig import Access, KubeconfigError
from steersman.controlplane.kubeconfig_merge import KubeconfigMerge
from steersman.controlplane.pki import KeyPair

OTHERS = """\
# my clusters
apiVersion: v1
kind: Config
clusters: [{name: work, cluster: {server: https://work}}, {name: steersman, cluster: {server: https://old}}]
users: null
contexts: [{name: work, context: {cluster: work, user: me}}]
current-context: work
extensions: [{name: x}]
"""


@pytest.fixture
def access(tmp_path):
    for name in ("ca", "crt", "key"):
        (tmp_path / name).write_text(name)
    return Access("steersman", "https://127.0.0.1:1", tmp_path / "ca", KeyPair(tmp_path / "crt", tmp_path / "key"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config"


@pytest.fixture
def merge(tmp_path, path, access):
    def make(text=None, *, server="https://127.0.0.1:1", name="steersman"):
        if text is not None:
            path.write_text(text)
        other = Access(name, server, access.ca, access.client)
        return KubeconfigMerge.make(path, other, directory=tmp_path / "state")

    return make


@pytest.fixture
def edit(path):
    """Change the file as another program would: loaded, changed, dumped."""

    def change(edit):
        config = yaml.safe_load(path.read_text())
        edit(config)
        path.write_text(yaml.safe_dump(config))

    return change


def names(config, section):
    return [entry["name"] for entry in config[section] or []]


def test_merge_keeps_entries_of_others_and_replaces_one_of_its_name(path, merge):
    merge(OTHERS)
    config = yaml.safe_load(path.read_text())
    assert (names(config, "clusters"), names(config, "contexts")) == (["work", "steersman"], ["work", "steersman"])
    assert config["clusters"][1]["cluster"]["server"] == "https://127.0.0.1:1"
    assert (config["current-context"], config["extensions"]) == ("steersman", [{"name": "x"}])
    assert path.stat().st_mode & 0o777 == 0o600


def test_merge_creates_the_file_and_follows_links(tmp_path, access):
    real, link = tmp_path / "real", tmp_path / "kube" / "config"
    link.parent.mkdir()
    link.symlink_to(real)
    journal = KubeconfigMerge.make(link, access, directory=tmp_path / "state")
    assert link.is_symlink()
    assert yaml.safe_load(real.read_text())["kind"] == "Config"
    journal.undo()
    assert link.is_symlink()
    assert not real.exists()


@pytest.mark.parametrize("text", ["[1]", "clusters: {a: 1}", "a: [", "\x00"])
def test_merge_does_not_change_files_that_are_no_kubeconfig(path, merge, text):
    with pytest.raises(KubeconfigError, match="nothing was changed"):
        merge(text)
    assert path.read_text() == text


def test_undo_restores_an_unchanged_file_byte_for_byte_with_its_mode(path, merge):
    path.write_text(OTHERS)
    path.chmod(0o640)
    merge().undo()
    assert path.read_text() == OTHERS
    assert path.stat().st_mode & 0o777 == 0o640


def test_undo_removes_the_journal_and_may_be_repeated(tmp_path, path, merge):
    journal = merge(OTHERS)
    assert list((tmp_path / "state").iterdir()) != []
    journal.undo()
    journal.undo()
    assert list((tmp_path / "state").iterdir()) == []
    assert path.read_text() == OTHERS


def test_undo_of_a_changed_file_removes_our_entries_only(path, merge, edit):
    journal = merge(OTHERS)
    edit(lambda config: config["contexts"].append({"name": "new", "context": {"cluster": "work", "user": "me"}}))
    journal.undo()
    config = yaml.safe_load(path.read_text())
    assert config["clusters"] == yaml.safe_load(OTHERS)["clusters"]
    assert (names(config, "users"), names(config, "contexts")) == ([], ["work", "new"])
    assert (config["current-context"], config["extensions"]) == ("work", [{"name": "x"}])


def test_undo_keeps_a_current_context_that_is_not_ours(path, merge, edit):
    journal = merge(OTHERS)
    edit(lambda config: config.update({"current-context": "other"}))
    journal.undo()
    config = yaml.safe_load(path.read_text())
    assert (config["current-context"], names(config, "contexts")) == ("other", ["work"])


def test_undo_does_not_restore_a_deleted_context(path, merge, edit):
    journal = merge(OTHERS)
    edit(
        lambda config: config.update(
            {"contexts": [context for context in config["contexts"] if context["name"] != "work"]}
        )
    )
    journal.undo()
    config = yaml.safe_load(path.read_text())
    assert (config["current-context"], names(config, "contexts")) == ("", [])


def test_undo_keeps_a_context_that_was_changed_with_its_references(path, merge, edit):
    journal = merge("")
    edit(lambda config: config["contexts"][0]["context"].update(namespace="mine"))
    before = path.read_bytes()
    journal.undo()
    assert path.read_bytes() == before


def test_undo_keeps_cluster_and_user_that_another_context_names(path, merge, edit):
    journal = merge("")
    mine = {"name": "mine", "context": {"cluster": "steersman", "user": "steersman", "namespace": "mine"}}
    edit(lambda config: config["contexts"].append(mine))
    journal.undo()
    config = yaml.safe_load(path.read_text())
    assert [names(config, section) for section in ("clusters", "users", "contexts")] == [
        ["steersman"],
        ["steersman"],
        ["mine"],
    ]


def test_undo_ignores_a_missing_or_unreadable_file(path, merge, caplog):
    journal = merge(OTHERS)
    path.write_text("a: [")
    journal.undo()
    assert path.read_text() == "a: ["
    assert "is left as it is" in caplog.text
    journal = merge(OTHERS)
    path.unlink()
    journal.undo()
    assert not path.exists()


def test_next_merge_undoes_that_of_a_process_that_was_killed(path, merge):
    merge(OTHERS)
    journal = merge(server="https://127.0.0.1:2")
    assert yaml.safe_load(path.read_text())["clusters"][1]["cluster"]["server"] == "https://127.0.0.1:2"
    journal.undo()
    assert path.read_text() == OTHERS


def test_undo_does_not_touch_a_later_merge_of_the_same_context(tmp_path, path, merge):
    first = merge(OTHERS)
    second = merge(server="https://127.0.0.1:2")
    before = path.read_bytes()
    first.undo()
    assert path.read_bytes() == before
    second.undo()
    assert path.read_text() == OTHERS
    assert list((tmp_path / "state").iterdir()) == []


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_undo_of_several_merges_restores_the_file_in_any_order(path, merge, order):
    merges = {"a": merge(OTHERS, name="steersman-a"), "b": merge(name="steersman-b")}
    merges[order[0]].undo()
    config = yaml.safe_load(path.read_text())
    assert names(config, "contexts") == ["work", f"steersman-{order[1]}"]
    assert config["current-context"] == f"steersman-{order[1]}"
    merges[order[1]].undo()
    assert path.read_text() == OTHERS


def test_undo_of_several_merges_of_a_changed_file_restores_the_first_context(path, merge, edit):
    first, second = merge(OTHERS, name="steersman-a"), merge(name="steersman-b")
    edit(lambda config: config.update({"extensions": []}))
    first.undo()
    second.undo()
    config = yaml.safe_load(path.read_text())
    assert (names(config, "contexts"), config["current-context"], config["extensions"]) == (["work"], "work", [])
