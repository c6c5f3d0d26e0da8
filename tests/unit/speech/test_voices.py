from legato.speech import Voice


def test_a_voice_is_equal_to_another_of_the_same_facts() -> None:
    voice = Voice(name="amy", engine="hibari")
    assert voice == Voice(name="amy", engine="hibari", languages=("en",))
    assert voice != Voice(name="amy", engine="tone")
    assert voice.gender is None
