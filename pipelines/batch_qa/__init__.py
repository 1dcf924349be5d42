"""Many questions over many documents: JSON Lines in, JSON Lines out, resumable."""

from __future__ import annotations

from ragcache.pipelines.batch_qa.job import Job, Summary
from ragcache.pipelines.batch_qa.library import Library
from ragcache.pipelines.batch_qa.results import Results
from ragcache.pipelines.batch_qa.rows import Failure, Question, read_questions

__all__ = ["Failure", "Job", "Library", "Question", "Results", "Summary", "read_questions"]
