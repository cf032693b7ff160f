"""A plan's kernels are divided among its models, so that none can hold all of them."""

import asyncio

from toolablate.experiments.execution.kernels import KernelShares


async def _holding(shares: KernelShares, *models: str) -> tuple[list[str], list[asyncio.Task[None]]]:
    """Asks for a place for each, in order; the names of those that have one, as they get it, and what holds them."""
    held: list[str] = []

    async def hold(model: str) -> None:
        async with shares.place(model):
            held.append(model)
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(hold(model)) for model in models]
    await asyncio.sleep(0)
    return held, tasks


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0)


async def test_no_model_has_more_than_its_share_while_others_need_theirs() -> None:
    shares = KernelShares(4, {"a": 9, "b": 9})
    held, tasks = await _holding(shares, *"aaaaa", *"bbbb")
    assert held == ["a", "a", "b", "b"]
    for task in tasks:
        await _end(task)


async def test_what_one_does_not_need_any_more_is_the_others() -> None:
    shares = KernelShares(4, {"a": 9, "b": 1})
    held, tasks = await _holding(shares, *"aaaa", "b")
    assert held == ["a", "a", "b"]
    await _end(tasks[-1])
    shares.done("b")
    await asyncio.sleep(0)
    assert held == ["a", "a", "b", "a", "a"]
    for task in tasks:
        await _end(task)


async def test_there_are_never_more_than_the_kernels_and_none_is_lost() -> None:
    shares = KernelShares(2, {"a": 9, "b": 9, "c": 9})
    held, tasks = await _holding(shares, *"abc", *"abc")
    assert held == ["a", "b"]
    # One that is cancelled while it waits, one in the very moment in which it is called, one that holds.
    await _end(tasks[3])
    tasks[0].cancel()
    await asyncio.sleep(0)
    tasks[2].cancel()
    for task in (tasks[0], tasks[2]):
        await _end(task)
    assert held == ["a", "b", "c"]
    await _end(tasks[1])
    await asyncio.sleep(0)
    assert held[3:] == ["b"]
    for task in tasks:
        await _end(task)


async def test_models_alone_have_all() -> None:
    held, tasks = await _holding(KernelShares(3, {"a": 9, "b": 0}), *"aaaa")
    assert held == ["a"] * 3
    for task in tasks:
        await _end(task)
