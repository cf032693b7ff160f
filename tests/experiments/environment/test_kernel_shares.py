"""A plan's kernels are divided among its models, so that none can hold all of them."""

import asyncio
import random

import pytest

from toolablate.experiments.running.execution import KernelShares


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
    shares = KernelShares(4, {"a": 9, "b": 2})
    held, tasks = await _holding(shares, *"aaaaa", *"bb")
    assert held == ["a", "a", "b", "b"]
    for task in tasks[-2:]:
        await _end(task)
        shares.done("b")
    await asyncio.sleep(0)
    assert held == ["a", "a", "b", "b", "a", "a"]
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


async def test_no_more_is_kept_than_a_model_has_trials_for() -> None:
    held, tasks = await _holding(KernelShares(4, {"a": 9, "b": 1}), *"aaaa", "b")
    assert held == ["a", "a", "a", "b"]
    for task in tasks:
        await _end(task)


async def test_no_more_is_kept_than_a_model_runs_at_once() -> None:
    shares = KernelShares(4, {"a": 9, "b": 9}, {"a": 8, "b": 1})
    held, tasks = await _holding(shares, *"aaaa", "b")
    assert held == ["a", "a", "a", "b"]
    for task in tasks:
        await _end(task)


async def test_what_is_left_over_is_lent_while_each_keeps_its_share() -> None:
    held, tasks = await _holding(KernelShares(5, {"a": 9, "b": 9, "c": 9}), *"aaaa", *"bb", *"c")
    assert held == ["a", "a", "a", "b", "c"]
    for task in tasks:
        await _end(task)


async def test_models_take_turns_where_there_are_fewer_kernels() -> None:
    left = {"a": 6, "b": 6, "c": 6}
    shares, order = KernelShares(1, left), []

    async def trial(model: str) -> None:
        async with shares.place(model):
            order.append(model)
            await asyncio.sleep(0)
        shares.done(model)

    await asyncio.gather(*(trial(model) for model, count in left.items() for _ in range(count)))
    assert order == list("abc") * 6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kernels", [3, 4, 5, 8])
async def test_models_that_hang_starve_no_other(kernels: int, seed: int) -> None:
    """Each has eight workers, which come in any order, and the dead ones never give back what they hold."""
    shares, done = KernelShares(kernels, {"dead": 20, "gone": 20, "well": 20}), 0

    async def work(model: str) -> None:
        nonlocal done
        async with shares.place(model):
            await (asyncio.sleep(0) if model == "well" else asyncio.Event().wait())
        shares.done(model)
        done += 1

    workers = [*["dead"] * 20, *["gone"] * 20, *["well"] * 20]
    random.Random(seed).shuffle(workers)
    tasks = [asyncio.create_task(work(model)) for model in workers]
    for _ in range(200):
        await asyncio.sleep(0)
    assert done == 20
    for task in tasks:
        await _end(task)
