"""The picture of a sweep: overhead over budget as an SVG."""

from __future__ import annotations

import os
import tempfile

from ..planning import Error, format_bytes

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 60, 20, 40, 50


def _ticks(high: float) -> list[float]:
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000, 10**9) if high / s <= 6)
    return [step * i for i in range(int(high / step) + 1)]


def write_sweep(sweep, path: str):
    """ValueError: the sweep has no plans. Error: its folder is not there. The file is replaced whole."""
    if not sweep.plans:
        raise ValueError("the sweep has no plans")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise Error(f"{path}: the folder is not there")
    low, high = sweep.plans[0].budget_bytes, max(sweep.plans[-1].budget_bytes, sweep.plans[0].budget_bytes + 1)
    most = max(1.0, *(p.overhead_percent for p in sweep.plans)) * 1.05

    def place(n_bytes: float, percent: float) -> str:
        x = LEFT + (n_bytes - low) / (high - low) * (WIDTH - LEFT - RIGHT)
        return f"{x:.1f},{HEIGHT - BOTTOM - percent / most * (HEIGHT - TOP - BOTTOM):.1f}"

    def line(rows, colour: str, dash: str = "") -> str:
        points = " ".join(place(n_bytes, percent) for n_bytes, percent in rows)
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20">Time added by recomputation, percent, over the bytes of the step. '
        '<tspan fill="#1f6fb4">plan</tspan>, <tspan fill="#888">proven bound</tspan></text>',
    ]
    for percent in _ticks(most):
        x, y = place(low, percent).split(",")
        parts.append(f'<line x1="{x}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end">{percent:g}</text>')
    for i in range(5):
        n_bytes = low + (high - low) * i / 4
        x, y = place(n_bytes, 0).split(",")
        anchor = "start" if i == 0 else "end" if i == 4 else "middle"
        parts.append(f'<text x="{x}" y="{float(y) + 20:.1f}" text-anchor="{anchor}">{format_bytes(int(n_bytes))}</text>')
    parts.append(line([(p.budget_bytes, p.bound_percent) for p in sweep.plans], "#888", ' stroke-dasharray="4 3"'))
    parts.append(line([(p.budget_bytes, p.overhead_percent) for p in sweep.plans], "#1f6fb4"))
    parts.append("</svg>\n")
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write("\n".join(parts))
    os.chmod(file.name, 0o666 & ~_umask())
    os.replace(file.name, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
