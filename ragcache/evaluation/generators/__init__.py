"""Stories for training and evaluation: documents about made-up people, products, places, policies, incidents
and teams, with questions whose answers the documents state."""

from ragcache.evaluation.generators.datasets import DATASETS, Example, dataset
from ragcache.evaluation.generators.schema import QA, Split, Story
from ragcache.evaluation.generators.story import KINDS, story

__all__ = ["DATASETS", "KINDS", "QA", "Example", "Split", "Story", "dataset", "story"]
