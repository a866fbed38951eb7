"""Which samples of a recording belong to a manifest row: the only place that knows the rule.

Channels that are equal sample by sample are one *track*, known by the lowest of their numbers.

- A row that names no channel is about the whole recording, all of its tracks.
- So is a row of a recording with a single track, whichever channel it names: a call that was
  exported as one channel, or as two equal ones, keeps the channel numbers of its manifest.
- Any other row is about the track of its channel; a channel that the recording lacks is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stt_ru.errors import AudioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from stt_ru.audio.source import Waveform


def equal_channels(waveform: Waveform, channels: Iterable[int]) -> list[list[int]]:
    """The channels in groups that are equal sample by sample, in order of first sight.

    Args:
        waveform: Shape (channels, n).
        channels: Those to compare.
    """
    groups: list[list[int]] = []
    for channel in channels:
        for group in groups:
            if np.array_equal(waveform[group[0]], waveform[channel]):
                group.append(channel)
                break
        else:
            groups.append([channel])
    return groups


def channel_map(tracks: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """For each channel of the recording the lowest channel of its track.

    Args:
        tracks: Channels that are equal; each channel of the recording stands in one of them.

    Example:
        >>> channel_map([[0, 2], [1]])
        (0, 1, 0)
    """
    lowest = {channel: min(track) for track in tracks for channel in track}
    return tuple(lowest[channel] for channel in range(len(lowest)))


def track_of_row(channel_map: Sequence[int], channel: int | None) -> int | None:
    """The track that a row is about; None for the whole recording.

    Args:
        channel_map: As of `channel_map`.
        channel: What the row names, from 0; None for none.

    Raises:
        AudioError: If the recording has several tracks and no such channel.

    Example:
        >>> track_of_row((0, 1, 0), 2), track_of_row((0, 1, 0), None), track_of_row((0, 0), 7)
        (0, None, None)
    """
    if channel is None or len(set(channel_map)) == 1:
        return None
    if channel >= len(channel_map):
        raise AudioError(
            f"в записи каналов: {len(channel_map)}, канала {channel} в ней нет (счёт с 0)"
        )
    return channel_map[channel]


def samples_of_row(waveform: Waveform, channel: int | None) -> tuple[NDArray[np.float32], bool]:
    """The samples that a row is about, and whether they are a mix of several tracks.

    Args:
        waveform: Shape (channels, n).
        channel: What the row names, from 0; None for none.

    Returns:
        Samples of shape (n,) that keep no other channel in memory.

    Raises:
        AudioError: If the recording has several tracks and no such channel.
    """
    groups = equal_channels(waveform, range(len(waveform)))
    track = track_of_row(channel_map(groups), channel)
    if track is not None:
        return waveform[track].copy(), False
    if len(groups) == 1:
        return waveform[0].copy() if len(waveform) > 1 else waveform[0], False
    return mixed_down(waveform), True


def stem_of_row(stem: str, channel: int | None) -> str:
    """The stem of the files that belong to a row: the recording's stem and the row's channel.

    Args:
        stem: The recording's stem.
        channel: What the row names, from 0; None for none.

    Example:
        >>> stem_of_row("call", 1), stem_of_row("call", None)
        ('call.1', 'call')
    """
    return stem if channel is None else f"{stem}.{channel}"


def mixed_down(waveform: Waveform) -> NDArray[np.float32]:
    """The mean of the channels, shape (n,)."""
    mean: NDArray[np.float32] = waveform.mean(axis=0, dtype=np.float32)
    return mean
