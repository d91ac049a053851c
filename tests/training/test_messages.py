from sonde.training.messages import text_of


def test_text_stays_and_messages_become_their_contents() -> None:
    assert text_of("as it is") == "as it is"
    said = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    assert text_of(said) == "one\ntwo"
