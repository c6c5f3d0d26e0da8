import asyncio

from legato.bus.memory.turn import MOST, Turn


async def test_what_is_due_is_called_in_order_and_not_at_once() -> None:
    turn, called = Turn(), list[str]()
    turn.call(lambda: called.append("one"))
    turn.call(lambda: called.append("two"))
    assert called == []
    await asyncio.sleep(0)
    assert called == ["one", "two"]


async def test_what_becomes_due_meanwhile_is_called_in_the_same_turn() -> None:
    turn, called = Turn(), list[str]()

    def first() -> None:
        turn.call(lambda: called.append("after it"))
        called.append("first")

    turn.call(first)
    asyncio.get_running_loop().call_soon(called.append, "the loop's next")
    await asyncio.sleep(0)
    assert called == ["first", "after it", "the loop's next"]


async def test_logs_that_feed_each_other_do_not_hold_up_the_loop() -> None:
    turn, calls = Turn(), 0

    def again() -> None:
        nonlocal calls
        calls += 1
        if calls < 3 * MOST:
            turn.call(again)

    turn.call(again)
    await asyncio.sleep(0)
    assert calls == MOST
    await asyncio.sleep(0)
    assert calls == 2 * MOST


async def test_a_turn_that_is_over_is_followed_by_another() -> None:
    turn, called = Turn(), list[str]()
    for word in ("one", "two"):
        turn.call(lambda word=word: called.append(word))  # type: ignore[misc]  # binds the word
        await asyncio.sleep(0)
    assert called == ["one", "two"]
