"""The bytes of a recording: what its headers and its end say that decoders do not."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from io import FileIO

STREAMED_SIZE = 0x7FFF_0000  # a writer that could not seek back puts 0 or some value above this


@dataclass(slots=True)
class View:
    """A file as a decoder is to see it: without its name, which decoders would guess by.

    Attributes:
        file: The recording. Its own position is moved.
        patch_at: Where ``patch`` stands instead of what is in the file.
        patch: The other bytes.
        extra_length: By how many bytes the file pretends to be longer. Its last 128 bytes, where
            MP3 has a tag, are found at the pretended end, and nothing between.
        n_hidden: How many bytes of its end are not seen.
    """

    file: FileIO
    patch_at: int = field(default=0, kw_only=True)
    patch: bytes = field(default=b"", kw_only=True)
    extra_length: int = field(default=0, kw_only=True)
    n_hidden: int = field(default=0, kw_only=True)
    _length: int = field(init=False)
    _position: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        size = os.fstat(self.file.fileno()).st_size
        self._length = size - self.n_hidden + self.extra_length

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move, as ``lseek`` does; -1 before the beginning."""
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        if origin + offset < 0:
            return -1  # as lseek; an exception would be printed by the decoder's callback
        self._position = origin + offset
        return self._position

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._position

    def read(self, n_bytes: int) -> bytes:
        """The next bytes; fewer at the end."""
        at = self._position
        if self.n_hidden:
            n_bytes = min(n_bytes, max(0, self._length - at))
        elif at >= self._length - 128:
            at = max(0, at - self.extra_length)
        data = bytearray(bytes_at(self.file, at, n_bytes))
        for i, byte in enumerate(self.patch, start=self.patch_at - self._position):
            if 0 <= i < len(data):
                data[i] = byte
        self._position += len(data)
        return bytes(data)


def bytes_at(file: FileIO, offset: int, n_bytes: int) -> bytes:
    """Up to ``n_bytes`` bytes of the file; its position is moved."""
    file.seek(offset)
    return file.read(n_bytes)


_WAV_MARKS: Final = frozenset({b"RIFF", b"RIFX", b"RF64"})


class WavData(NamedTuple):
    """The data of a WAV file, in bytes."""

    size_at: int
    """Where its size stands in the file."""
    n_promised: int
    """That size."""
    n_bytes: int
    """How many are read: those promised that exist, or when streamed all that 32 bits can tell."""
    n_unread: int
    """How many follow that are no part of the format."""
    is_streamed: bool
    """Whether the writer did not know the size."""


def find_wav_data(file: FileIO, n_file: int) -> WavData | None:
    """Find the data of a WAV file; None for other files and those without data.

    libsndfile shortens a size that is too large without a word, and believes one that is too small.
    """
    if not _is_wav(file, 0):
        return None
    head = bytes_at(file, 0, 4)
    order: Literal["big", "little"] = "big" if head == b"RIFX" else "little"
    at = 12
    n_long: int | None = None
    while len(chunk := bytes_at(file, at, 8)) == 8:
        name, n_bytes = chunk[:4], int.from_bytes(chunk[4:], order)
        at += 8
        if name == b"ds64":
            n_long = int.from_bytes(bytes_at(file, at + 8, 8), "little")
        if name != b"data":
            at += n_bytes + n_bytes % 2
            continue
        if head == b"RF64" and n_long is not None:
            n_bytes = n_long
        n_left = n_file - at
        end = at + n_bytes + n_bytes % 2
        n_after = _n_foreign(file, end, n_file, order)
        is_streamed = STREAMED_SIZE <= n_bytes > n_left
        if n_bytes == 0:
            is_streamed = n_after > 0 and not _is_wav(file, end)
        n_read = min(n_left, 0xFFFF_FFFF if is_streamed else n_bytes)
        return WavData(
            size_at=at - 4,
            n_promised=n_bytes,
            n_bytes=n_read,
            n_unread=n_left - n_read if is_streamed else n_after,
            is_streamed=is_streamed,
        )
    return None


def _is_wav(file: FileIO, at: int) -> bool:
    head = bytes_at(file, at, 12)
    return head[:4] in _WAV_MARKS and head[8:] == b"WAVE"


def _n_foreign(file: FileIO, at: int, n_file: int, order: Literal["big", "little"]) -> int:
    """How many bytes behind the data are neither its chunks nor what writers leave behind those."""
    end = at
    while not _is_wav(file, end) and _is_chunk(file, end, n_file, order):
        n_bytes = int.from_bytes(bytes_at(file, end + 4, 4), order)
        end += 8 + n_bytes + n_bytes % 2
    # Behind chunks only another file counts: a chunk of odd size may lack its last byte.
    return max(0, n_file - end) if end == at or _is_wav(file, end) else 0


def _is_chunk(file: FileIO, at: int, n_file: int, order: Literal["big", "little"]) -> bool:
    chunk = bytes_at(file, at, 8)
    return (
        len(chunk) == 8
        and all(0x20 <= byte < 0x7F for byte in chunk[:4])
        and int.from_bytes(chunk[4:], order) <= n_file - at - 8
    )


def has_mp3_length(file: FileIO) -> bool:
    """Whether the first frame of an MP3 file says how many there are."""
    head = bytes_at(file, 0, 10)
    at = 0
    if head[:3] == b"ID3":  # its size has 7 bits a byte
        at = 10 + sum(
            (byte & 0x7F) << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True)
        )
    frame = bytes_at(file, at, 4096)
    return any(mark in frame for mark in (b"Xing", b"Info", b"VBRI"))


def has_last_ogg_page(file: FileIO) -> bool:
    """Whether the last page of an Ogg file says that it is the last."""
    size = os.fstat(file.fileno()).st_size
    tail = bytes_at(file, max(0, size - 0x1_0000), 0x1_0000)  # a page is shorter than 64 KB
    page = tail.rfind(b"OggS")
    return page >= 0 and len(tail) > page + 5 and bool(tail[page + 5] & 4)


def text_start(head: bytes) -> str | None:
    """The beginning of a text, None for other bytes."""
    encodings = ["utf-8-sig", "cp1251"]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    for encoding in encodings:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            text = decoder.decode(head)  # the last letter may be cut
        except UnicodeDecodeError:
            continue
        line = " ".join(text.split())
        if line and line.isprintable():
            return line[:40] + ("…" if len(line) > 40 else "")
    return None
