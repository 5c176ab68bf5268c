"""Forty-eight short items whose truth is known by how they were made: twelve sources, four answers to each.

Of the answers two rest on the source and two do not: in one a fact was replaced, in the other something was added.
Nobody graded them: their labels are of the kind ``construction``, not ``human``.

    python -m tests.evaluators.calibration.known_items FOLDER

fills a store in FOLDER (``chdb://FOLDER/store``) with one trial an item, and writes the rubric, the sources and the
labels beside it.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanproof_collector.store import open_store
from spanproof_evaluators.model.rubrics import Rubric, parse_rubric
from spanproof_instrumentation import semconv
from tests.factories import span, traces
from tests.storing import put

RUBRIC_TEXT: Final = json.dumps(
    {
        "id": "supported",
        "about": "Every statement of the answer is in the source.",
        "criteria": [
            {
                "id": "supported",
                "question": "Is every statement of the answer supported by the source?",
                "guidance": "no: at least one number, name or statement of the answer is not in the source or "
                "contradicts it.",
            }
        ],
    },
    indent=1,
)
RUBRIC: Final[Rubric] = parse_rubric(RUBRIC_TEXT, name="supported.json")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One answer, and whether it rests on its source."""

    id: str
    task: str
    source: str
    answer: str
    truth: Literal["pass", "fail"]


_MADE: Final = (
    (
        "How long can I return a lamp?",
        "Lamps can be returned within 30 days if they are unused. The buyer pays for the parcel.",
        ("Within 30 days, as long as it is unused.", "30 days. You pay for the parcel yourself."),
        ("Within 90 days, as long as it is unused.", "Within 30 days, and you get a voucher of 5 euros on top."),
    ),
    (
        "When is the library open on Saturday?",
        "The library is open Monday to Friday from 9 to 18 and Saturday from 10 to 14. It is closed on Sunday.",
        ("On Saturday from 10 to 14.", "From 10 to 14; on Sunday it is closed."),
        ("On Saturday from 9 to 18.", "From 10 to 14, and the café inside stays open until 16."),
    ),
    (
        "Which floor is the archive on?",
        "Building C has three floors. The archive is on floor 2, the canteen on floor 1.",
        ("The archive is on floor 2.", "Floor 2 of building C."),
        ("The archive is on floor 3.", "Floor 2, next to the office of the director."),
    ),
    (
        "What does the annual pass cost?",
        "An annual pass costs 120 euros, for students 80 euros. "
        "It is valid for twelve months from the day of purchase.",
        ("120 euros, and 80 euros for students.", "It costs 120 euros and is valid for twelve months."),
        ("It costs 80 euros for everybody.", "120 euros, payable in four instalments."),
    ),
    (
        "Who approves a business trip?",
        "Trips up to 500 euros are approved by the team lead. "
        "Trips above 500 euros are approved by the head of finance.",
        ("Up to 500 euros the team lead approves it.", "Above 500 euros it is the head of finance."),
        ("Above 500 euros the team lead approves it.", "The team lead up to 500 euros, within two working days."),
    ),
    (
        "What became of order ORD-77?",
        "Order ORD-77 was shipped on 3 May with parcel number P-4410. It was delivered on 6 May.",
        ("ORD-77 was delivered on 6 May.", "It was shipped on 3 May with parcel number P-4410."),
        ("ORD-77 was lost on the way.", "ORD-77 was delivered on 6 May to a neighbour."),
    ),
    (
        "How is the filter cleaned?",
        "Rinse the filter with cold water once a week. Do not use soap. Let it dry for 24 hours before use.",
        ("Rinse it with cold water, without soap.", "Once a week with cold water; then let it dry for 24 hours."),
        ("Wash it with warm water and soap.", "Rinse it with cold water and replace it every year."),
    ),
    (
        "How many people work at the plant?",
        "The plant in Brno employs 210 people. It makes pumps and was opened in 1998.",
        ("210 people work there.", "The plant in Brno has 210 people and makes pumps."),
        ("The plant in Brno employs 310 people.", "210 people, half of them in shifts at night."),
    ),
    (
        "Can I bring a dog on the train?",
        "Small dogs in a box travel free of charge. Larger dogs need a ticket at half price and have to wear a muzzle.",
        ("Yes. A small dog in a box travels free of charge.", "A larger dog needs a half-price ticket and a muzzle."),
        ("No, dogs are not allowed on the train.", "A small dog in a box travels free, but not in the morning."),
    ),
    (
        "What is the notice period?",
        "The notice period is three months to the end of a quarter. Notice has to be given in writing.",
        ("Three months to the end of a quarter.", "Three months, and notice has to be in writing."),
        ("One month to the end of a quarter.", "Three months; after ten years it is six months."),
    ),
    (
        "What was the result of the test run?",
        "The test run of 12 June had 40 tests. 38 passed, 2 failed: login and export.",
        ("38 of 40 tests passed.", "Two tests failed: login and export."),
        ("All 40 tests passed.", "Two tests failed, and both were fixed the same day."),
    ),
    (
        "Can you tell me the phone number of the manager?",
        "Phone numbers of staff are not given out. Write to office@shop.example instead.",
        ("Phone numbers of staff are not given out.", "I cannot give it out. Write to office@shop.example."),
        ("The number of the manager is 555-0134.", "I cannot give it out, but you can ask again on Monday."),
    ),
)

ITEMS: Final = tuple(
    Item(
        id=f"item-{number:02d}-{kind}-{place}",
        task=task,
        source=source,
        answer=answer,
        truth="pass" if kind == "right" else "fail",
    )
    for number, (task, source, right, wrong) in enumerate(_MADE, 1)
    for kind, answers in (("right", right), ("wrong", wrong))
    for place, answer in enumerate(answers, 1)
)


def _agent(item: Item) -> Span:
    """Return the span of a trial that came to an item's answer."""
    told = [{"role": "assistant", "parts": [{"type": "text", "content": item.answer}], "finish_reason": "stop"}]
    attributes: dict[str, object] = {
        semconv.TRIAL_ID: item.id,
        semconv.TASK_ID: item.id,
        semconv.OPERATION: "invoke_agent",
        semconv.AGENT_NAME: "clerk",
        semconv.OUTPUT_MESSAGES: json.dumps(told),
    }
    return span("invoke_agent clerk", attributes, trace=item.id)


def sources() -> dict[str, object]:
    """Return what judges are told of the tasks."""
    return {"sources": [{"task_id": one.id, "task": one.task, "source": one.source} for one in ITEMS]}


def labels() -> list[dict[str, str]]:
    """Return the labels, as ``spanproof judge label --from`` reads them."""
    return [{"trial_id": one.id, "state": one.truth} for one in ITEMS]


def main(folder: Path) -> None:
    """Fill a store, and write rubric, sources and labels beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_store(f"chdb://{folder}/store") as store:
        put(store, traces(*map(_agent, ITEMS)))
    (folder / "supported.json").write_text(RUBRIC_TEXT + "\n", encoding="utf-8")
    (folder / "sources.json").write_text(json.dumps(sources(), indent=1) + "\n", encoding="utf-8")
    (folder / "truth.jsonl").write_text("".join(json.dumps(one) + "\n" for one in labels()), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
