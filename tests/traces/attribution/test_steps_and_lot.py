from toolablate.analysis.attribution.belief import belief_steps
from toolablate.analysis.attribution.decomposition import is_chosen, probability
from toolablate.traces.records import (
    Answer,
    Event,
    Failure,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    ReplayDesign,
    ToolCall,
    ToolRequest,
    digest_text,
)

ASK = ModelCall(
    at=0,
    request=ModelRequest(messages=(Message(role="user", content="What is it?"),)),
    reply=ModelReply(message=Message(role="assistant", content="B"), finish_reason="stop"),
)
CALL = ToolCall(at=0, call=ToolRequest(id="1", name="python", arguments="{}"), output="1")
FAILED = Failure(at=0, boundary="model", code="timeout", message="late", retried=True)
ANSWER = Answer(at=0, text="B")

TRIALS = [digest_text(str(number)) for number in range(4_000)]


def test_steps_are_the_requests_and_the_first_call_of_each_turn() -> None:
    conversation: list[Event] = [ASK, CALL, CALL, FAILED, ASK, FAILED, CALL, ASK, ANSWER]
    assert belief_steps(conversation) == (0, 1, 4, 6, 7)


def test_a_trial_that_asked_nothing_has_no_steps() -> None:
    assert belief_steps([FAILED]) == ()


def test_the_lot_falls_with_the_probabilities_of_the_design() -> None:
    design = ReplayDesign(seed=3, failures=0.8, successes=0.2)
    for value, share in ((0.0, 0.8), (0.49, 0.8), (0.5, 0.2), (1.0, 0.2)):
        assert probability(design, value) == share
        drawn = sum(is_chosen(design, trial, value) for trial in TRIALS) / len(TRIALS)
        # Four standard errors.
        assert abs(drawn - share) < 4 * (0.16 / len(TRIALS)) ** 0.5


def test_a_larger_share_chooses_the_same_trials_and_more() -> None:
    small, large = ReplayDesign(successes=0.2), ReplayDesign(successes=0.6)
    chosen = {trial for trial in TRIALS if is_chosen(small, trial, 1.0)}
    assert chosen < {trial for trial in TRIALS if is_chosen(large, trial, 1.0)}


def test_another_seed_chooses_others() -> None:
    first, second = ReplayDesign(failures=0.5), ReplayDesign(failures=0.5, seed=1)
    assert [is_chosen(first, trial, 0.0) for trial in TRIALS] != [is_chosen(second, trial, 0.0) for trial in TRIALS]


def test_shares_of_all_and_of_none() -> None:
    design = ReplayDesign(failures=1.0, successes=0.0)
    assert all(is_chosen(design, trial, 0.0) for trial in TRIALS)
    assert not any(is_chosen(design, trial, 1.0) for trial in TRIALS)
