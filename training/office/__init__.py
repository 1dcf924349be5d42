"""Pages like those of a staff handbook: plain facts of some 290 kinds about one subject each. For training."""

from training.office.story import office_story

__all__ = ["office_story"]
