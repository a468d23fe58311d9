"""What the tests share."""

import subprocess
import sys

import numpy as np
import pytest


@pytest.fixture
def heaps():
    """Three heaps of 60 points of the plane, far apart, and which is whose."""
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 60)
    centres = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    return centres[truth] + rng.normal(size=(180, 2)), truth


@pytest.fixture
def documents():
    """60 documents in two topics over 12 words, as a dense array of counts."""
    rng = np.random.default_rng(2)
    topics = np.array([[0.15] * 6 + [0.1 / 6] * 6, [0.1 / 6] * 6 + [0.15] * 6])
    truth = np.repeat([0, 1], 30)
    return np.array([rng.multinomial(40, topics[topic] / topics[topic].sum()) for topic in truth]), truth


@pytest.fixture
def command():
    """Runs the `dirigent` command of the package."""

    def run(*arguments):
        words = [sys.executable, "-m", "dirigent", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=300)

    return run
