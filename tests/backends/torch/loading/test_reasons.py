from sonde.backends.torch.loading.reasons import LONGEST, one_line, unknown_model


def test_a_paragraph_becomes_one_line() -> None:
    assert one_line(ValueError("first\n\n  second ")) == "first second"


def test_a_long_message_is_cut() -> None:
    assert len(one_line(ValueError("x" * 1000))) == LONGEST


def test_an_empty_message_becomes_the_name_of_its_class() -> None:
    assert one_line(KeyError()) == "KeyError"


def test_an_unknown_model_lists_what_would_work() -> None:
    message = str(unknown_model("gtp2", "it is not there"))
    for part in ("'gtp2'", "it is not there", "smollm2", "Hugging Face id", "adapter", ".gguf"):
        assert part in message
