"""Charts of the HTML page as SVG: each a function from figures to text, without a library."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from stt_ru.report.table import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.analysis.slices import SliceGroup

_WIDTH = 520  # units of the drawing
_LABEL = 150  # of them for names
_FIGURES = 110  # and for the figures at the right
_LINE = 22


def interval_chart(group: SliceGroup) -> str:
    """WER of each slice as a point with its interval; an empty text when none has words."""
    rows = [one for one in group.slices if one.words.rate is not None]
    if not rows:
        return ""
    bounds = [one.interval.high for one in rows if one.interval]
    top = _nice(max([*bounds, *(one.words.rate or 0.0 for one in rows)]))
    scale = (_WIDTH - _LABEL - _FIGURES) / top
    height = _LINE * len(rows) + 26
    parts = [_axis(_LABEL, _WIDTH - _FIGURES, height - 20, top)]
    for number, one in enumerate(rows):
        y = _LINE * number + 14
        x = _LABEL + scale * (one.words.rate or 0.0)
        parts.append(
            f'<text x="{_LABEL - 8}" y="{y + 4}" text-anchor="end">{_short(one.value)}</text>'
        )
        if one.interval:
            low, high = (_LABEL + scale * bound for bound in (one.interval.low, one.interval.high))
            parts.append(
                f'<line class="mark" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" '
                'stroke-width="2"/>'
            )
        parts.append(f'<circle class="mark" cx="{x:.1f}" cy="{y}" r="4"/>')
        parts.append(
            f'<text class="dimtext" x="{_WIDTH}" y="{y + 4}" text-anchor="end">'
            f"{percent(one.words.rate)} (n={one.rows})</text>"
        )
    return _svg(height, f"WER по срезам: {group.title}", parts)


def scatter_chart(
    points: Sequence[tuple[float, float, str]], *, x_title: str, title: str, small: bool = False
) -> str:
    """WER (the second figure, a fraction) against a quantity; an empty text for no points."""
    if not points:
        return ""
    height, left, bottom = 260, 44, 34
    top = _nice(max(y for _, y, _ in points))
    right = _nice(max(x for x, _, _ in points))
    parts = []
    for step in range(5):
        y = (height - bottom) - (height - bottom - 10) * step / 4
        parts.append(f'<line class="axis" x1="{left}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="dimtext" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{100 * top * step / 4:.3g}</text>"
        )
        x = left + (_WIDTH - left - 12) * step / 4
        parts.append(
            f'<text class="dimtext" x="{x:.1f}" y="{height - bottom + 16}" text-anchor="middle">'
            f"{right * step / 4:.3g}</text>"
        )
    parts.append(
        f'<text class="dimtext" x="{_WIDTH}" y="{height - 2}" text-anchor="end">{escape(x_title)}'
        "</text>"
    )
    dots = []
    for x_value, y_value, name in points:
        x = left + (_WIDTH - left - 12) * x_value / right
        y = (height - bottom) - (height - bottom - 10) * y_value / top
        if small:
            dots.append(f"M{x:.1f} {y:.1f}h0")
            continue
        anchor = "end" if x > _WIDTH / 2 else "start"
        parts.append(f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        parts.append(
            f'<text x="{x + (-9 if anchor == "end" else 9):.1f}" y="{y - 7:.1f}" '
            f'text-anchor="{anchor}">{_short(name)}</text>'
        )
    if dots:  # one line of points: thousands of circles would slow the page down
        parts.append(
            f'<path class="mark" d="{"".join(dots)}" stroke-width="5" stroke-linecap="round" '
            'stroke-opacity="0.6" fill="none"/>'
        )
    return _svg(height, title, parts)


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">{body}</svg>'
    )


def _axis(left: float, right: float, y: float, top: float) -> str:
    ticks = []
    for step in range(5):
        x = left + (right - left) * step / 4
        ticks.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{y}"/>')
        ticks.append(
            f'<text class="dimtext" x="{x:.1f}" y="{y + 16}" text-anchor="middle">'
            f"{100 * top * step / 4:.3g}</text>"
        )
    return "".join(ticks)


def _nice(value: float) -> float:
    """The value rounded up to 1, 2, 4 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 10) if value <= step * power * (1 + 1e-9))


def _short(text: str) -> str:
    return escape(text if len(text) <= 20 else text[:19] + "…")
