"""Texts that two tokenizers are compared on: where rules for splitting and adding differ.

Short, and few enough to be compared at every load. Special tokens are left to who knows them.
"""

from typing import Final

PROBES: Final = (
    "",
    "The Eiffel Tower is in the city of",
    "When Mary and John went to the store, John gave a drink to",
    " a space before",
    "  two, and after  ",
    "one  two   three    four",
    "tab\tand\ttab",
    "line\nline\n\nline\n\n\n end\n",
    "\r\n",
    " \n  \n",
    "In 1889 and 12345678, or 3.14159: 1,000",
    "to\n\n1  2",
    "it's I'LL we've THEY'RE don't",
    "snake_case CamelCase HTTPServer x=f(a[1])!=0; // /*",
    "<b>&amp;</b> #1 $5 50% a@b.c",
    "naïve façade Ångström e\u0301",
    "Привет, мир",
    "你好，世界。日本語",
    "नमस्ते",
    "🙂 👩\u200d🔬",
    "…“quoted” – dash",
)
