"""What tests of policy files share."""

import pytest

import hedgerow as hr
from tests.policy_file.files import fitted


@pytest.fixture(scope="package")
def valued():
    """A policy whose robust value has been asked for; to be looked at, not changed."""
    policy = fitted(ambiguity=hr.KL(2.0, loss_scale="auto"))
    assert policy.robust_value_.value > 0
    return policy
