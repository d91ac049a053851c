"""A reward of your own: grade one completion, return a number or the parts of one.

sonde train --reward examples/custom_verifier.py:verify --prompts sums.jsonl --output-dir out/sums

`sums.jsonl` has one question a line, and whatever the verifier wants to know besides:

    {"prompt": "12 + 7 =", "answer": 19}
"""

import re

from sonde.training.rewards.scores import Scores


def verify(prompt: str, completion: str, *, answer: int) -> Scores:
    """R_A: it begins with a number. R_B: the right one. R_C: nothing follows. R_D: how close."""
    found = re.match(r"\s*(-?\d+)", completion)
    if found is None:
        return Scores(a=False, invalid=True)
    number = int(found[1])
    return Scores(
        a=True,
        b=float(number == answer),
        c=float(not completion[found.end() :].strip()),
        d=1 / (1 + abs(number - answer)),
    )


if __name__ == "__main__":
    for said in (" 19", " 19.\nTwelve and seven", " 18", " nineteen"):
        scores = verify("12 + 7 =", said, answer=19)
        print(f"{said!r:24} R = {scores.reward:.2f}   {scores}")
