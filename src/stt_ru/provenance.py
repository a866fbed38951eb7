"""How figures were made: a report's signature, and the only place that writes signatures."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from stt_ru.scoring.counts import EDIT_SPLIT
from stt_ru.text.marked_references import VARIANTS, Marked, read_references
from stt_ru.text.normalize import NORMALIZER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from stt_ru.manifest import Sample

EMPTY_RULE: Final = "insertions"
"""Hypothesis words against an empty reference are insertions."""

RECOGNISED_BY: Final = ("stt-ru", "onnx-asr", "onnxruntime")
"""Packages whose versions can change what is recognised."""

SCORED_BY: Final = ("stt-ru",)
"""Packages whose versions can change how stored texts are scored."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that can change a report's figures; equal signatures mean comparable figures."""

    fields: Mapping[str, str]

    def __str__(self) -> str:
        return "|".join(f"{_escape(name)}:{_escape(value)}" for name, value in self.fields.items())

    @classmethod
    def parse(cls, text: str) -> Signature:
        """The signature written as ``text``.

        Raises:
            ValueError: If a field has no «:» or occurs twice.

        Example:
            >>> Signature.parse("model:C%3A/a|lang:ru").fields
            {'model': 'C:/a', 'lang': 'ru'}
        """
        fields: dict[str, str] = {}
        for part in text.split("|") if text else ():
            name, colon, value = part.partition(":")
            if not colon or _unescape(name) in fields:
                raise ValueError(f"not a field of a signature: {part!r}")
            fields[_unescape(name)] = _unescape(value)
        return cls(fields)


_ESCAPES = {"%": "%25", "|": "%7C", ":": "%3A", "\n": "%0A"}


def _escape(value: str) -> str:
    for character, escape in _ESCAPES.items():  # «%» first: the other escapes contain it
        value = value.replace(character, escape)
    return value


def _unescape(value: str) -> str:
    for character, escape in reversed(_ESCAPES.items()):
        value = value.replace(escape, character)
    return value


def sign(
    about: Mapping[str, object],
    samples: Sequence[Sample],
    *,
    references: Sequence[str | Marked] | None = None,
    variants: bool = False,
    packages: Iterable[str] = RECOGNISED_BY,
) -> Signature:
    """The signature of figures made now.

    Args:
        about: The model first, then everything specific to it: settings, how it was run.
        samples: The rows.
        references: As in `references_digest`.
        variants: Whether the marks of `stt_ru.text.marked_references` are read in the references.
        packages: Packages whose versions matter.
    """
    return Signature(
        {
            **{str(name): str(value) for name, value in about.items()},
            **_rules(samples, references, variants=variants),
            **{package: version(package) for package in packages},
        }
    )


def sign_again(
    earlier: Mapping[str, str],
    samples: Sequence[Sample],
    *,
    references: Sequence[str | Marked] | None = None,
    variants: bool,
) -> Signature:
    """The signature of texts scored before and now scored again by the current rules.

    Args:
        earlier: Fields of their earlier signature.
        samples: The rows.
        references: As in `references_digest`.
        variants: As in `sign`.
    """
    return Signature({**earlier, **_rules(samples, references, variants=variants)})


def join(signatures: Iterable[Signature | None], samples: Sequence[Sample]) -> Signature:
    """The signature of all parts together; where they differ, every value is listed.

    Args:
        signatures: One per part; None is skipped.
        samples: The rows of all parts.
    """
    parts = [signature.fields for signature in signatures if signature is not None]
    names = dict.fromkeys(name for fields in parts for name in fields)
    values = {name: dict.fromkeys(fields.get(name, "none") for fields in parts) for name in names}
    return Signature({name: "+".join(found) for name, found in values.items()} | _rows(samples))


def _rules(
    samples: Sequence[Sample], references: Sequence[str | Marked] | None, *, variants: bool
) -> dict[str, str]:
    return {
        "norm": NORMALIZER,
        "split": EDIT_SPLIT,
        "empty": EMPTY_RULE,
        **({"variants": VARIANTS} if variants else {}),
        **_rows(samples, references, variants=variants),
    }


def _rows(
    samples: Sequence[Sample],
    references: Sequence[str | Marked] | None = None,
    *,
    variants: bool = False,
) -> dict[str, str]:
    digest = references_digest(samples, references, variants=variants)
    return {"rows": str(len(samples)), "refs": digest}


def references_digest(
    samples: Sequence[Sample],
    references: Sequence[str | Marked] | None = None,
    *,
    variants: bool = False,
) -> str:
    """First 12 hex digits of the SHA-256 over the rows: equal digests mean the same test set.

    Args:
        samples: The rows.
        references: Their texts as compared, if already read; None to read them here.
        variants: Whether the marks of `stt_ru.text.marked_references` are read in the references.
    """
    if references is None:
        texts = ((sample.audio, sample.text) for sample in samples)
        references = read_references(texts, variants=variants)
    digest = hashlib.sha256()
    for sample, reference in zip(samples, references, strict=True):
        text = reference.text if isinstance(reference, Marked) else reference
        row = [sample.audio, sample.channel, text]
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:12]
