"""What a judge is asked.

The answer is foreign text. It stands between marks that carry a code, which is drawn from a digest of all that the
marks enclose: nobody who writes an answer can know the code that it will be given, and so none can close the marks.
"""

from toolablate.benchmarks.judging.measure import reference_of, shown_question
from toolablate.benchmarks.judging.reading import Fault, after_thoughts
from toolablate.benchmarks.judging.wording import Part, Words, words_for
from toolablate.traces.records import JudgePrompt, Message, ModelReply, ModelRequest, Question, digest_json

CODE_DIGITS = 16

# A judge that went on for ever is not made to read all of that again.
MAX_QUOTED_CHARS = 4_000


def own_request(question: Question, answer: str) -> ModelRequest:
    """The protocol of LPFQA (version 2, section 4 and appendix 8) in our words; the question is shown as well."""
    words = words_for(question.language)
    parts: list[tuple[Part, str]] = [("question", shown_question(question))]
    if question.rubric is not None and question.rubric.points.strip():
        parts.append(("points", question.rubric.points.strip()))
    parts += [("reference", reference_of(question, words)), ("answer", answer)]
    return _request(words.system, "\n\n".join([*_fenced(parts, words), words.closing]))


def row_request(prompt: JudgePrompt, answer: str) -> ModelRequest:
    """A benchmark's own words, to the letter."""
    return _request(prompt.system, f"{prompt.before}{answer}{prompt.after}")


def asked_again(request: ModelRequest, reply: ModelReply, fault: Fault, question: Question) -> ModelRequest:
    """The request with the judge's reply to it and what is wrong with that."""
    words = words_for(question.language)
    return with_note(request, reply, words.again.format(fault=words.faults[fault]))


def with_note(request: ModelRequest, reply: ModelReply, note: str) -> ModelRequest:
    """The request with the judge's reply to it, without its thoughts and no longer than need be, and our note."""
    said = after_thoughts(reply.message.content)
    if said:
        quoted = said if len(said) <= MAX_QUOTED_CHARS else f"[...] {said[-MAX_QUOTED_CHARS:]}"
        turns = (Message(role="assistant", content=quoted), Message(role="user", content=note))
        return request.model_copy(update={"messages": (*request.messages, *turns)})
    # Endpoints refuse an empty message, and some two of one role after each other.
    *others, last = request.messages
    longer = last.model_copy(update={"content": f"{last.content}\n\n{note}"})
    return request.model_copy(update={"messages": (*others, longer)})


def _request(system: str, user: str) -> ModelRequest:
    messages = (Message(role="system", content=system),) if system.strip() else ()
    return ModelRequest(messages=(*messages, Message(role="user", content=user)))


def _fenced(parts: list[tuple[Part, str]], words: Words) -> list[str]:
    code = digest_json(parts)[:CODE_DIGITS]
    return [f"<{words.parts[part]} {code}>\n{text}\n</{words.parts[part]} {code}>" for part, text in parts]
