"""What files of texts are read into, and how their ids are kept apart."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from stt_ru.errors import UsageError
from stt_ru.files.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Key: TypeAlias = Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredText:
    """One text of a file: of an utterance, a recording, or a channel of it.

    Attributes:
        line: Where it stands in its file, from 1.
        text: As written; None where the system gave none.
        name: Its id, or the recording's name; None where texts are known by their order.
        channel: From 0; None for the whole recording.
        duration_s: Seconds of audio; None when unknown.
        extra: Other fields of the row.
    """

    line: int
    text: str | None
    name: str | None = None
    channel: int | None = None
    duration_s: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """By what reference and hypothesis meet."""
        return (self.name, self.channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """The texts of one file in its order.

    Attributes:
        path: As the user gave it.
        side: What the texts are.
        texts: All with names, or all without.
        notices: What was skipped or taken for granted, sentences in Russian.
    """

    path: str
    side: Literal["reference", "hypothesis"]
    texts: Sequence[StoredText]
    notices: Sequence[str] = ()

    @property
    def has_names(self) -> bool:
        """Whether texts are found by id; False for by order."""
        return bool(self.texts) and self.texts[0].name is not None


def by_key(path: str, texts: Iterable[StoredText]) -> dict[Key, StoredText]:
    """The texts by their keys, in their order.

    Raises:
        UsageError: If two have one key.
    """
    found: dict[Key, StoredText] = {}
    for text in texts:
        first = found.setdefault(text.key, text)
        if first is not text:
            raise UsageError(
                f"{path}:{text.line}: id {quoted(str(text.name))} уже есть в строке {first.line}; "
                "у каждого текста должен быть свой id"
            )
    return found
