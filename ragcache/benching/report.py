"""A run of the bench as JSON, as lines, and as one HTML page that needs no other file and no network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ragcache.benching.figures import Row
from ragcache.benching.load import Load
from ragcache.benching.plots import Bars, bar_chart, line_chart
from ragcache.benching.roofline import Roofline
from ragcache.benching.scaling import Fit
from ragcache.benching.stored import Overhead, growth
from ragcache.evaluation.html import Picture, report_environment

_TEMPLATE = "bench.html.jinja"


@dataclass(frozen=True)
class Report:
    """What was measured with which model and load, and how. `fit` and `overheads` only where asked for."""

    workload: str
    model: str
    parameters: int
    dtype: str
    device: str
    threads: int
    compiled: bool
    load: Load
    rows: tuple[Row, ...]
    roofline: Roofline
    fit: Fit | None = None
    overheads: tuple[Overhead, ...] = ()

    @property
    def computed(self) -> str:
        """In what dtype, and whether by compiled layers."""
        return f"{self.dtype}, compiled" if self.compiled else self.dtype

    def as_json(self) -> dict[str, Any]:
        """One object; what was not measured is left out."""
        found = {
            "workload": self.workload,
            "model": self.model,
            "parameters": self.parameters,
            "dtype": self.dtype,
            "device": self.device,
            "threads": self.threads,
            "compiled": self.compiled,
            "load": asdict(self.load),
            "rows": [asdict(row) for row in self.rows],
            "roofline": {**asdict(self.roofline), "share": self.roofline.share},
        }
        if self.fit is not None:
            found["scaling"] = asdict(self.fit)
        if self.overheads:
            found["stored"] = [asdict(one) for one in self.overheads]
            found["stored_ratio"] = growth(self.overheads)
        return found

    def lines(self) -> list[str]:
        """What stands below the table: batching, roofline, and the fits where they were asked for."""
        line = self.roofline
        said = [
            *self._batching(),
            f"roofline: full refreshes of {line.rows} rows reach {line.refresh_flops_per_s / 1e9:.1f} "
            f"GFLOP/s, matrix products of their shape {line.matmul_flops_per_s / 1e9:.1f} in {line.dtype}: "
            f"{line.share:.2f}",
        ]
        if self.fit is not None:
            said.append(
                f"scaling of {self.fit.system}: {self.fit.intercept_s * 1e3:.1f} ms + "
                f"{self.fit.slope_s * 1e6:.1f} us a live row, R^2 {self.fit.r2:.4f}, at most "
                f"{self.fit.off:.0%} off, over prompts of {', '.join(map(str, self.fit.prompts))} tokens"
            )
        if self.overheads:
            each = ", ".join(f"{one.request_s * 1e3:.2f} with {one.affixes}" for one in self.overheads)
            said.append(
                f"stored affixes: ms a request outside forwards: {each}: {growth(self.overheads):.2f} times"
            )
        return said

    def _batching(self) -> list[str]:
        """How much faster refines are together, system by system."""
        each = [
            f"{row.system} {row.refines.batch_ratio:.2f} ({row.refines.together:.1f} together, "
            f"{row.same:.0%} the same tokens)"
            for row in self.rows
            if row.refines is not None
        ]
        return [f"refines of a batch of {self.load.batch} / single ones: {', '.join(each)}"] if each else []

    def html(self, *, created: str, command: str) -> str:
        """The page. Raises `MissingDependencyError` without matplotlib."""
        size = f"{self.parameters / 1e6:.1f} M parameters"
        about = {
            "Workload": f"{self.workload}: {described(self.load)}",
            "Model": f"{self.model}, {size}, {self.computed} on {self.device}",
            "Threads": self.threads,
            "Created": created,
            "Command": command,
            **{said.partition(": ")[0].capitalize(): said.partition(": ")[2] for said in self.lines()},
        }
        pictures = [self._bars()]
        if self.fit is not None:
            pictures.append(_fitted(self.fit))
        template = report_environment("ragcache.benching").get_template(_TEMPLATE)
        return template.render(
            title=f"ragcache bench {self.workload}",
            about=about,
            rows=self.rows,
            scored=any(row.em is not None for row in self.rows),
            pictures=pictures,
        )

    def _bars(self) -> Picture:
        def by_system(name: str, unit: float = 1.0) -> Mapping[str, float]:
            return {row.system: getattr(row, name) / unit for row in self.rows}

        panels = [
            Bars("requests/s", by_system("requests_per_s")),
            Bars("refresh p50 / dual's", by_system("refresh_ratio"), by_system("live_row_fraction")),
            Bars("peak KV (MiB)", by_system("peak_kv_bytes", 2**20)),
        ]
        label = "Requests a second, refresh time / dual's, and peak KV of every system, as in the table."
        caption = "The line across a refresh bar is the live-row fraction: the limit of what fewer rows give."
        return Picture(caption, bar_chart(panels, label))


def _fitted(fit: Fit) -> Picture:
    titles = ("live rows", "a refresh by itself (s)")
    label = f"Refresh time of {fit.system} against its live rows, with the line fitted to them."
    return Picture(label, line_chart(fit.points, (fit.slope_s, fit.intercept_s), titles, label))


def described(load: Load) -> str:
    """A load in a few words."""
    pace = "all at once" if load.rate is None else f"{load.rate:g} a second"
    return (
        f"{load.requests} requests, {pace}, batch {load.batch}; prompts of up to {load.workload.prompt} "
        f"tokens of {load.texts}, {load.workload.share:.0%} in affixes, canvas {load.canvas}, "
        f"block {load.block}, {load.tokens_per_step} tokens a step"
    )
