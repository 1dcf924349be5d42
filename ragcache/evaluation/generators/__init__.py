"""Stories for training and evaluation: documents about made-up people, products, places, policies, incidents
and teams, with questions whose answers the documents state."""

from ragcache.evaluation.generators.datasets import DATASETS, Example, dataset
from ragcache.evaluation.generators.linked import LINKED_KINDS, linked_story
from ragcache.evaluation.generators.long import LONG_SIZES, long_story
from ragcache.evaluation.generators.schema import QA, Split, Story, Told
from ragcache.evaluation.generators.story import KINDS, story

__all__ = [
    "DATASETS",
    "KINDS",
    "LINKED_KINDS",
    "LONG_SIZES",
    "QA",
    "Example",
    "Split",
    "Story",
    "Told",
    "dataset",
    "linked_story",
    "long_story",
    "story",
]
