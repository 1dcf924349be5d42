"""What `ragcache bench` shows."""

from __future__ import annotations

from rich.table import Table

from ragcache.benching.report import Report, described
from ragcache.cli.output import console

_WIDTH = 150
_COLUMNS = (
    ("requests/s", "requests_per_s", "{:.3f}"),
    ("x dual", "throughput_ratio", "{:.2f}"),
    ("tokens/s", "tokens_per_s", "{:.1f}"),
    ("refresh p50 s", "refresh_p50_s", "{:.4f}"),
    ("/ dual", "refresh_ratio", "{:.3f}"),
    ("loaded p50 s", "loaded_refresh_p50_s", "{:.4f}"),
    ("p99 s", "loaded_refresh_p99_s", "{:.4f}"),
    ("live rows", "live_row_fraction", "{:.3f}"),
    ("of limit", "limit_share", "{:.2f}"),
    ("peak KV MiB", "peak_kv_bytes", "{:.1f}"),
    ("/ dual", "kv_ratio", "{:.3f}"),
)
_EM = ("em", "em", "{:.3f}")


def show(report: Report) -> None:
    """The table, and lines below it; exact match only where answers are known."""
    scored = any(row.em is not None for row in report.rows)
    columns = (*_COLUMNS, _EM) if scored else _COLUMNS
    table = Table(box=None, pad_edge=False)
    table.add_column("system")
    for title, _, _ in columns:
        table.add_column(title, justify="right")
    for row in report.rows:
        values = {**vars(row), "peak_kv_bytes": row.peak_kv_bytes / 2**20}
        table.add_row(row.system, *(form.format(values[name]) for _, name, form in columns))
    out = console()
    out.width = max(out.width, _WIDTH)  # a narrow terminal folds lines, cells stay whole
    out.print(f"{report.workload}: {described(report.load)}")
    out.print(
        f"{report.model}: {report.parameters:,} parameters, {report.computed}, {report.threads} threads"
    )
    out.print(table)
    for line in report.lines():
        out.print(line)
