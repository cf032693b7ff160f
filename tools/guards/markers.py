"""Notices text that speaks to the model instead of to a reader. A guess by wording: it is logged and nothing more."""

from functools import lru_cache
from typing import Any

from toolablate.tools.guards.guard import Inspection
from toolablate.tools.guards.passages import normal_text
from toolablate.tools.text import one_line
from toolablate.traces.records import Marker

MAX_MARKERS = 3
"""Of one text: more of them say no more."""

EXCERPT_CHARS = 200

_B = r"[\s\p{Z}]+"
_EARLIER = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|original|system)"
_ORDERS = r"(?:instructions?|prompts?|directions?|directives?|commands?|orders|guidelines|rules|context|messages?)"
_MODEL = (
    r"(?:(?:(?:large )?language|AI|LLM|artificial intelligence|chat|generative)[ -]"
    r"(?:(?:language|chat) )?(?:models?|assistants?|agents?|bots?|chatbots?|systems?|crawlers?|scrapers?)"
    r"|LLMs?|chatbots?|ChatGPT|AIs)"
)
_ENGLISH = (
    rf"\b(?:ignore|disregard|forget|override|overlook|bypass){_B}(?:(?:all|any|the|of|your|these|those|my|every){_B}){{0,3}}"
    rf"{_EARLIER}{_B}(?:and{_B}\w+{_B})?(?:system{_B})?{_ORDERS}\b",
    rf"\b(?:ignore|disregard|forget){_B}(?:all|everything|any(?:thing)?){_B}(?:of{_B})?"
    rf"(?:your{_B}{_ORDERS}|(?:that{_B})?(?:you{_B}(?:were|have{_B}been){_B}told|(?:came{_B})?(?:above|before{_B}this)))\b",
    rf"\b(?:ignore|disregard|forget){_B}(?:all{_B}(?:of{_B})?)?the{_B}(?:above|foregoing|preceding|previous)"
    rf"(?:{_B}(?:and|but|then){_B}|\s*(?:[.!;:,]|-{_B}|\n|$))",
    rf"\byou{_B}are{_B}(?:now{_B}|actually{_B}|currently{_B})?(?:an?{_B}|the{_B})?(?:\w+{_B}){{0,2}}{_MODEL}\b",
    rf"\byou{_B}are{_B}now{_B}(?:in{_B})?(?:DAN|developer{_B}mode|jailbroken|unrestricted)\b",
    rf"\b(?:attention|note|notice|message|instructions?|important|hello|hey|dear)[,:]?{_B}(?:to{_B}|for{_B}|all{_B}|any{_B}|the{_B}){{0,3}}"
    rf"{_MODEL}\b",
    rf"\b(?:reveal|print|repeat|show|output|leak|disclose|send|ignore|override){_B}(?:\w+{_B}){{0,4}}system{_B}prompt\b",
    rf"\b(?:new|updated|hidden|real|actual){_B}system{_B}(?:prompt|message|instructions?)\b|\bsystem{_B}prompt\s*:",
    rf"\b(?:do{_B}not|don[’']t|never|without){_B}(?:tell|inform|mention|reveal|alert|notify|warn|telling|informing|alerting|notifying|warning)"
    rf"{_B}(?:\w+{_B}){{0,4}}(?:the|your|this){_B}user\b",
    rf"\byour{_B}(?:new|real|true|actual|only|next|updated){_B}(?:instructions?|task|goal|objective|mission|role){_B}(?:is|are|will)\b",
    rf"\b(?:begin|start|end){_B}(?:of{_B})?(?:new{_B}|hidden{_B})?(?:system|admin|assistant){_B}(?:prompt|instructions?|message)\b",
    r"<\|(?:im_start|im_end|system|user|assistant|start|channel|endoftext|eot_id|start_header_id)\|>|\[/?INST\]|<</?SYS>>",
)
_CHINESE = (
    r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要理會|放弃|覆盖)[^。!?\n]{0,6}(?:之前|以上|先前|上述|前面|此前|原有|原来|所有|全部|系统|系統|你的)"
    r"[^。!?\n]{0,8}(?:指令|指示|提示|命令|要求|规则|規則|设定|設定|内容)",
    r"你(?:现在|現在|其实|其實)?是(?:一个|一個|一名|一位|个)?[^。!?,\n]{0,6}(?:AI|人工智能|人工智慧|大?语言模型|大?語言模型|大模型|聊天机器人|聊天機器人|智能助手)",
    r"(?:泄露|洩露|透露|输出|輸出|打印|显示|顯示|重复|重複|告诉我|忽略)[^。!?\n]{0,8}(?:系统提示|系統提示)|(?:新的?|真正的?|隐藏的?)(?:系统提示|系統提示)|系统提示词?:",
    r"(?:不要|别|請勿|请勿|切勿|无需|不得)(?:告诉|告訴|告知|通知|提醒|透露给|向)[^。!?\n]{0,4}(?:用户|用戶|使用者)",
    r"(?:致|请注意|注意|通知)[,:]?(?:所有|各位)?(?:AI|人工智能|大?语言模型|大模型)(?:助手|模型|代理)?",
)
_OTHERS = (
    rf"\bignor(?:iere|ieren{_B}sie|ez|e|a|ez){_B}(?:\w+{_B}){{0,3}}(?:vorherigen?|bisherigen?|précédentes?|anteriores|precedenti)\b",
    rf"\b(?:ignora|ignore|ignorez|oublie[zr]?|olvida){_B}(?:\w+{_B}){{0,3}}(?:instrucciones|instruções|instructions|istruzioni){_B}"
    r"(?:anteriores|précédentes|precedenti|previas)\b",
    r"(?:以前|これまで|上記)の(?:すべての)?(?:指示|命令)を(?:無視|忘れ)",
    rf"игнорируй(?:те)?{_B}(?:все{_B})?предыдущие",
)


class InstructionGuard:
    """Marks what reads like an instruction to a model, however it is spelled; blocks nothing."""

    def inspect(self, url: str, text: str) -> Inspection:
        encoded = normal_text(text).encode("utf-8", "replace")
        markers: list[Marker] = []
        position = 0
        while len(markers) < MAX_MARKERS and (match := _instruction_like().search(encoded, position)):
            start, position = match.span()
            excerpt = encoded[max(start - 60, 0) : position + EXCERPT_CHARS].decode("utf-8", "ignore")
            markers.append(Marker(kind="instruction_like", where=url, excerpt=one_line(excerpt, EXCERPT_CHARS)))
            # What follows at once belongs to the same instruction.
            position += EXCERPT_CHARS
        return Inspection(tuple(markers))


@lru_cache(maxsize=1)
def _instruction_like() -> Any:
    import re2

    options = re2.Options()
    options.never_capture = True
    options.case_sensitive = False
    options.max_mem = 64_000_000
    return re2.compile("|".join((*_ENGLISH, *_CHINESE, *_OTHERS)), options)
