"""Pages like those of a staff handbook: plain facts of many kinds, about one subject each."""

from training.office.story import office_story

__all__ = ["office_story"]
