"""Many questions from Python: rows are written as they are answered; a second run does what is left."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from ragcache import Engine, Registry, load
from ragcache.pipelines.batch_qa import Job, Library, Results, read_questions
from ragcache.pipelines.rag.documents import load_documents

HANDBOOK = Path(__file__).parent / "handbook"
KETTLE = "product-kavra-kettle.md"
LINES = [
    {"custom_id": "cost", "question": "How much does the Kavra kettle cost?", "docs": [KETTLE]},
    {"custom_id": "job", "question": "What is Ines Calder's job?", "docs": ["people-ines-calder.md"]},
    {"custom_id": "warranty", "question": "What is the warranty?", "docs": [KETTLE]},
    {"custom_id": "lost", "question": "Who is it?", "docs": ["people-nobody.md"]},
]


def main(store: Path) -> None:
    out = store.parent / "answers.jsonl"
    library = Library(load_documents([HANDBOOK]).documents)
    questions = list(read_questions([json.dumps(line).encode() for line in LINES], "example", library))
    with Registry(store) as registry, Engine(load("nano"), registry) as engine:
        model = engine.model
        for _ in range(2):
            with Results(out, model=model.name, fingerprint=model.fingerprint, resume=True) as results:
                summary = Job(engine, results).run(questions)
            print(f"{summary.ok} answered, {summary.failed} failed, {summary.skipped} done before")
    for row in map(json.loads, out.read_text(encoding="utf-8").splitlines()):
        print(f"  {row['custom_id']}: {row['answer'] or row['error']['message']}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "store")
