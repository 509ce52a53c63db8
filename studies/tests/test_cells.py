"""Results of long studies: found again if nothing changed, never if something did."""

import json

import pytest

from hedgerow_studies.cells import Cells


def test_a_key_cannot_pass_for_what_it_depends_on(tmp_path):
    Cells(tmp_path, {"data": "x"}).put({"n": 1}, {"value": 0.1})
    assert Cells(tmp_path, {"data": "y"}).get({"n": 1, "data": "x"}) is None


def test_a_result_is_found_again_by_another_run(tmp_path):
    Cells(tmp_path / "a", {"data": "x"}).put({"n": 1}, {"value": 0.1})
    again = Cells(tmp_path / "a", {"data": "x"})
    assert again.get({"n": 1}) == {"value": 0.1}
    assert again.get({"n": 2}) is None


def test_other_data_parameters_or_versions_do_not_find_it(tmp_path):
    Cells(tmp_path, {"data": "x"}).put({"n": 1}, {"value": 0.1})
    assert Cells(tmp_path, {"data": "y"}).get({"n": 1}) is None
    assert Cells(tmp_path, {"data": "x", "jax": "99"}).get({"n": 1}) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"key": 1}', "null"])
def test_a_damaged_file_counts_as_not_done(tmp_path, damage):
    kept = Cells(tmp_path, {})
    kept.put({"n": 1}, {"value": 0.1})
    (path,) = tmp_path.glob("*.json")
    path.write_text(damage)
    assert kept.get({"n": 1}) is None
    kept.put({"n": 1}, {"value": 0.2})
    assert kept.get({"n": 1}) == {"value": 0.2}


def test_a_failed_write_leaves_nothing(tmp_path):
    kept = Cells(tmp_path, {})
    with pytest.raises(TypeError):
        kept.put({"n": 1}, {"value": object()})
    assert list(tmp_path.iterdir()) == []


def test_the_file_says_what_it_belongs_to(tmp_path):
    Cells(tmp_path, {"data": "x"}).put({"n": 1}, {"value": 0.1})
    (path,) = tmp_path.glob("*.json")
    stored = json.loads(path.read_text())
    assert stored["cell"] == {"n": 1}
    assert stored["depends"] == {"data": "x"}


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file"):
        Cells(tmp_path / "taken", {})
