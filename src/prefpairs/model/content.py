"""The content of a message: text, and parts of other types. Reading loses no content.

Everything in a message that is not text remains a part of its content, exactly as it was given, so
messages that differ in it are different. Targets decide what to do with such parts.
"""

from typing import Any

from prefpairs.errors import BadField
from prefpairs.model.json_codec import finite

CONTENT_KEYS = (
    "text",
    "parts",
    "refusal",
    "image",
    "images",
    "image_url",
    "image_urls",
    "audio",
    "audios",
    "input_audio",
    "video",
    "videos",
    "file",
    "files",
    "file_id",
    "file_ids",
    "document",
    "documents",
    "attachment",
    "attachments",
    "media",
    "context",
    "tools",
    "functions",
)
"""The keys other than `content` that hold content, in the order in which they are read.

No other key of a message is content: ids, annotations, log probabilities, timings, weights.
"""

MEDIA = {
    "image": "image",
    "images": "image",
    "audio": "audio",
    "audios": "audio",
    "video": "video",
    "videos": "video",
    "file": "file",
    "files": "file",
    "document": "document",
    "documents": "document",
    "attachment": "attachment",
    "attachments": "attachment",
}
"""Keys of images, audio and the like, and the type of the part that each item becomes."""

ANSWER_FORM = "answer_form"
"""The type of a part that says which format an answer must have. It is not part of the text."""

_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})
_CONTENT_KEYS = frozenset(CONTENT_KEYS)
_BESIDE_TEXT = [key for key in CONTENT_KEYS if key not in ("text", "refusal")]
_WORDS = frozenset({"text", "refusal"})
_PLAIN = {"type", "text"}
_OF_IMAGES = {"type", "image_url", "detail"}


def read_content(value: Any, field: str) -> str | list[Any]:
    """The content of a message. Null is empty; parts that are all text become one text.

    >>> read_content([{"type": "output_text", "text": "a"}, {"type": "text", "text": "b"}], "m")
    'ab'
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise BadField(f"{field}.content", value, "text or a list of parts")
    return _as_text([_read_part(part, f"{field}.content.{at}") for at, part in enumerate(value)])


def with_content_beside(content: str | list[Any], message: dict[str, Any]) -> str | list[Any]:
    """The content, with what the message has under other keys. Images and the like come first.

    >>> with_content_beside("Who?", {"images": ["a.png"], "audio": None})
    [{'type': 'image', 'image': 'a.png'}, {'type': 'text', 'text': 'Who?'}]
    """
    if _CONTENT_KEYS.isdisjoint(message):
        return content
    keys = [key for key in CONTENT_KEYS if message.get(key) and message[key] != content]
    media = [part for key in keys if key in MEDIA for part in parts_of(key, message[key])]
    others = [part for key in keys if key not in MEDIA for part in parts_of(key, message[key])]
    return _as_text([*media, *as_parts(content), *others]) if keys else content


def as_parts(content: str | list[Any]) -> list[Any]:
    """Content as a list of parts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content


def parts_of(key: str, value: Any) -> list[dict[str, Any]]:
    """The parts for a value under a content key: one for each image, audio and the like.

    >>> parts_of("images", ["a.png", "b.png"])
    [{'type': 'image', 'image': 'a.png'}, {'type': 'image', 'image': 'b.png'}]
    """
    if key in _WORDS:
        if not isinstance(value, str):
            raise BadField(key, value, "text")
        return [{"type": "text", "text": value}]
    if key not in MEDIA:
        return [{"type": key, key: finite(value)}]
    kind, items = MEDIA[key], value if isinstance(value, list) else [value]
    return [{"type": kind, kind: finite(item)} for item in items if item or item == 0]


def _as_text(parts: list[dict[str, Any]]) -> str | list[Any]:
    """Parts that are all text as one text."""
    if all(part["type"] == "text" and part.keys() == _PLAIN for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _read_part(part: Any, field: str) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        raise BadField(field, part, "a content part with a type")
    if part["type"] in _TEXT_PARTS:
        text = part.get("text", part.get("refusal"))
        if not isinstance(text, str):
            raise BadField(f"{field}.text", text, "text")
        others = {key: finite(part[key]) for key in _BESIDE_TEXT if part.get(key)}
        return {"type": "text", "text": text, **others}
    given = {key: value for key, value in part.items() if value is not None}
    if part["type"] == "input_image" and "image_url" in given and given.keys() <= _OF_IMAGES:
        image = {"url": given["image_url"]}
        if given.get("detail", "auto") != "auto":
            image["detail"] = given["detail"]
        return {"type": "image_url", "image_url": finite(image)}
    whole: dict[str, Any] = finite(part)
    return whole
