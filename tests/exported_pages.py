"""Every kind of page that Sonde exports, small: python -m tests.exported_pages DIR

For a browser that looks at them (`ui/e2e/pages.e2e.ts`); what is in them is tested elsewhere.
"""

import sys
from pathlib import Path

from sonde.cli.demo_index import Entry, html
from sonde.results.ablation_page import ablation_page
from sonde.results.attention_page import page as attention_page
from sonde.results.reward_page import reward_page
from sonde.results.story_page import story_page
from tests.results.features import CARD, feature_sweep
from tests.results.summaries import SHAPES, three_hooks
from tests.results.test_attention import patterns, scores
from tests.results.test_reward import result as reward
from tests.results.told_story import story


def pages() -> dict[str, str]:
    """Each by its name."""
    entry = Entry("A sweep", "What it found, in a sentence.", "sweep.html")
    return {
        "sweep": three_hooks().to_html(),
        **{f"table-{n}": found.to_html() for n, found in enumerate(SHAPES.values())},
        "fragment": notebook(three_hooks()._repr_html_()),
        "attention": attention_page(patterns()),
        "scores": attention_page(scores()),
        "feature": ablation_page(feature_sweep(), {1740: CARD}, "Features of a test"),
        "reward": reward_page(reward()),
        "story": story_page(story(), reward()),
        "demo": html([entry]),
    }


def notebook(output: str) -> str:
    """A result between the headings of somebody's notebook."""
    head = "<!doctype html><html lang='en'><head><title>Mine</title></head>"
    return f"{head}<body><main><h1>Mine</h1><h2>Cell</h2>{output}</main></body></html>"


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (directory / f"{name}.html").write_text(text, encoding="utf-8")
