"""Files that were damaged, forged or make large claims: one sentence, soon, in little memory."""

import copy
import dataclasses
import json
import re
import resource
import time

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

import hedgerow as hr
from hedgerow.data.units import Units
from hedgerow.policy_file import describe, schema
from tests.policy_file.files import FRAME, contents, fitted, renamed, rewritten, same, y
from tests.problems import QUICK


class TestDamage:
    """A file that was changed says so; one that was forged is still held to what is declared."""

    def test_every_flipped_bit_of_the_arrays_is_seen(self, valued, tmp_path):
        path = tmp_path / "p"
        valued.save(path)
        data = path.read_bytes()
        header = 8 + int.from_bytes(data[:8], "little")
        for at in np.random.default_rng(0).integers(8 * header, 8 * len(data), 100):
            spoilt = bytearray(data)
            spoilt[at // 8] ^= 1 << at % 8
            path.write_bytes(spoilt)
            with pytest.raises(hr.PolicyFileError, match="do not match its digest"):
                hr.load(path)

    def test_a_changed_description_is_seen(self, valued, tmp_path):
        path = tmp_path / "p"
        valued.save(path)
        arrays, about = contents(path)
        data = path.read_bytes()
        assert b"0.6" in data  # a cost
        path.write_bytes(data.replace(b"0.6", b"0.7"))
        with pytest.raises(hr.PolicyFileError, match="do not match its digest"):
            hr.load(path)
        save_file(arrays, path, {"hedgerow": json.dumps(about)})  # format 3 without a digest
        with pytest.raises(hr.PolicyFileError, match="do not match its digest"):
            hr.load(path)

    def test_files_of_format_2_have_none_and_are_checked_all_the_same(self, valued, tmp_path):
        path = tmp_path / "p"
        valued.save(path)
        renamed(path, "", "", format=2)
        same(hr.load(path), valued)
        arrays, about = contents(path)
        arrays["units.z_unit"] *= -1
        rewritten(path, arrays, about)
        with pytest.raises(hr.PolicyFileError, match=r"units\.z_unit must lie between 1e-150"):
            hr.load(path)

    @pytest.mark.parametrize(
        ("array", "change", "words"),
        [
            ("units.z_unit", lambda a: -a, "units.z_unit must lie between"),
            ("units.y_unit", lambda a: 0 * a, "units.y_unit must lie between"),
            ("units.x_factor", lambda a: a * np.nan, "units.x_factor must lie between"),
            ("units.x_centre", lambda a: a[:2], "units.x_factor does not fit the other units"),
            ("units.loss_unit", lambda a: a[None], "units.loss_unit must be float64 with 0 axes"),
            (
                "units.constant",
                lambda a: a - 1e3,
                "units.constant does not lie in the decision set",
            ),
            ("units.constant", lambda a: a.astype(np.float32), "units.constant must be float64"),
            ("history", lambda a: a * np.inf, "history must be finite"),
            ("rule.0", lambda a: a * np.float32(np.nan), "numbers must be finite"),
            ("rule.0", lambda a: a[:, :1], "rule.0 is float32 of shape (3, 1, 2)"),
            ("rule.0", lambda a: a.astype(np.float64), "rule.0 is float64"),
            ("rule.3", lambda a: a + 5, "A tree sees features that are none of the 3"),
            ("rule.4", lambda a: -a, "temperature must not be negative"),
        ],
        ids=lambda part: part if isinstance(part, str) else "changed",
    )
    def test_arrays_out_of_range_are_named(self, tmp_path, array, change, words):
        path = tmp_path / "p"
        fitted(rule=hr.SoftForest(3, 2, features_per_tree=2), ambiguity=hr.ERM()).save(path)
        arrays, about = contents(path)
        arrays[array] = np.array(change(arrays[array]), order="C")
        rewritten(path, arrays, about)
        with pytest.raises(hr.PolicyFileError, match=re.escape(words)):
            hr.load(path)

    def test_a_rule_decides_in_the_set_of_its_loss(self, tmp_path):
        """A forged box in the arrays does not widen what the loss allows."""
        path = tmp_path / "p"
        fitted(hr.Newsvendor(1.0, 3.0, decision_set=hr.Box(2, 9)), rule=hr.Affine()).save(path)
        arrays, about = contents(path)
        arrays["rule.1"] = arrays["rule.1"] * 1000
        rewritten(path, arrays, about)
        with pytest.raises(hr.PolicyFileError, match="another decision set than its loss"):
            hr.load(path)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"features": "3"}, "the description.features must be a whole number"),
            ({"features": 4}, "it speaks of 4 features, but its arrays are those of 3"),
            ({"feature_names": ["a"]}, "it speaks of 1 names of features"),
            ({"colour": 1}, "has an entry 'colour' that is not known"),
            ({"single_outcome": 1}, "single_outcome must be true or false"),
            ({"robust_value": {"value": "x"}}, "robust_value lacks 'bias'"),
            ({"ambiguity": None}, "the description.ambiguity must be a part"),
            ({"columns": {"encoder": {}, "outcomes": ["y"]}}, "description of columns is damaged"),
            ({"status": float("inf")}, "damaged description"),
        ],
        ids=str,
    )
    def test_entries_that_are_not_as_declared_are_named(self, valued, tmp_path, changes, words):
        path = tmp_path / "p"
        valued.save(path)
        renamed(path, "", "", **changes)
        with pytest.raises(hr.PolicyFileError, match=re.escape(words)):
            hr.load(path)

    def test_the_schema_knows_every_unit(self):
        assert set(schema.UNITS) == {field.name for field in dataclasses.fields(Units)}

    def test_what_could_not_be_read_is_not_written(self, valued, tmp_path):
        policy = copy.copy(valued)
        policy.units_ = dataclasses.replace(policy.units_, z_unit=-policy.units_.z_unit)
        with pytest.raises(hr.PolicyFileError, match=r"cannot be saved: units\.z_unit"):
            policy.save(tmp_path / "p")
        policy = copy.copy(valued)
        policy.rule_ = jax.tree_util.tree_map(lambda leaf: leaf * 1e20, policy.rule_)
        with pytest.raises(hr.PolicyFileError, match="cannot be saved: its rule's numbers"):
            policy.save(tmp_path / "p")
        assert not list(tmp_path.iterdir())


class TestSizes:
    """What a file claims costs nothing until it is seen to be true."""

    @pytest.fixture(autouse=True)
    def modest(self):
        """Little time and memory, whatever a test reads."""
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        yield
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024
        assert time.monotonic() - start < 30

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('"features": 3', '"features": 1000000000'),
            ('"outcomes": 1', '"outcomes": 1000000000'),
            ('"trees": 3', '"trees": 1000000000'),
            ('"hedgerow.SoftForest", "parameters": {', '"hedgerow.TwoLayer", "parameters": {'),
            ('"decision_set": null', '"decision_set": {"set": "Free", "arguments": [1000000000]}'),
        ],
    )
    def test_large_claims_are_refused(self, tmp_path, old, new):
        path = tmp_path / "p"
        fitted(ambiguity=hr.ERM()).save(path)
        assert old in json.dumps(contents(path)[1])
        renamed(path, old, new)
        with pytest.raises(hr.PolicyFileError):
            hr.load(path)

    def test_the_second_stage_of_a_loss_waits_until_it_is_asked(self, tmp_path):
        """Forty products have more dual vertices than can be listed in half a minute."""
        path, products = tmp_path / "p", 40
        loss = hr.InventorySubstitution([1.0, 0.7], [1.8, 1.6], [[0.0, 1.7], [1.2, 0.0]])
        Y = np.column_stack([y, 2 * y])
        policy = hr.RobustPolicy(loss, hr.ERM(), hr.Affine(), solver=QUICK, random_state=0)
        policy.fit(FRAME, Y).save(path)
        again = hr.load(path)
        assert again.loss._built is None
        np.testing.assert_array_equal(again.predict(FRAME), policy.predict(FRAME))
        assert again.loss._built is None
        assert again.score(FRAME, Y) == policy.score(FRAME, Y)

        arrays, about = contents(path)
        for name in ("units.y_unit", "units.y_spread", "units.z_unit", "units.constant", "rule.1"):
            arrays[name] = np.resize(arrays[name], products)
        arrays["rule.0"] = np.resize(arrays["rule.0"], (products, 3))
        costs = np.random.default_rng(0).uniform(1, 2, (products, products))
        about["policy"]["loss"]["parameters"] |= {
            "holding": 1.0, "shortage": 2.0, "substitution": describe(costs)
        }  # fmt: skip
        rewritten(path, arrays, about | {"outcomes": products})
        assert path.stat().st_size < 50_000
        assert hr.load(path).predict(FRAME).shape == (len(FRAME), products)

    def test_parts_within_parts_end_somewhere(self, tmp_path):
        path = tmp_path / "p"
        fitted(rule=hr.Affine(), ambiguity=hr.ERM()).save(path)
        arrays, about = contents(path)
        text = json.dumps(about)
        for depth, words in ((40, "parts within parts"), (100_000, "damaged description")):
            nest = '{"tuple": [' * depth + "1" + "]}" * depth
            spoilt = text.replace('"decision_set": null', f'"decision_set": {nest}')
            save_file(arrays, path, {"hedgerow": spoilt.replace('"format": 3', '"format": 2')})
            with pytest.raises(hr.PolicyFileError, match=words):
                hr.load(path)
