"""How a build's progress looks: bars on a terminal, a line a step elsewhere, JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import click

from sandbox_cli import show

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from sandbox.v1 import templates_pb2 as pb


class BuildView(Protocol):
    """Shows a build as it goes."""

    def step(self, progress: pb.BuildProgress) -> None:
        """A step began, went on or ended."""

    def finished(self, template: pb.Template) -> None:
        """The template exists."""


@contextmanager
def progress_for(output: str) -> Iterator[BuildView]:
    """The view for this process's output, for the length of the block."""
    if output == "json":
        yield JsonLines()
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}", style="dim", markup=False),
        )
        with Progress(*columns, console=Console(stderr=True)) as bars:
            yield Bars(bars)
    else:
        yield Lines()


class JsonLines:
    """An event a line on standard output."""

    def step(self, progress: pb.BuildProgress) -> None:
        """Print the step as it came."""
        show.json_line(event="progress", **show.as_dict(progress))

    def finished(self, template: pb.Template) -> None:
        """Print the template."""
        show.json_line(event="template", template=show.as_dict(template))


class Lines:
    """A line when a step begins and when it ends, on standard error."""

    def __init__(self) -> None:
        self._told: set[tuple[int, bool]] = set()

    def step(self, progress: pb.BuildProgress) -> None:
        """Tell a beginning and an end once each; what is between them is for terminals."""
        key = (progress.index, progress.done)
        if key in self._told:
            return
        self._told.add(key)
        end = _end(progress)
        detail = f" ({progress.detail})" if progress.detail else ""
        click.echo(f"[{progress.index}/{progress.count}] {progress.step}{end}{detail}", err=True)

    def finished(self, template: pb.Template) -> None:
        """Nothing: the command prints its own last line."""


def _end(progress: pb.BuildProgress) -> str:
    if not progress.done:
        return " ..."
    return ": kept from an earlier build" if progress.cached else ": done"


class Bars:
    """A bar a step, on the terminal."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[int, TaskID] = {}

    def step(self, progress: pb.BuildProgress) -> None:
        """Move the step's bar; one without a known length pulses until it is done."""
        task = self._tasks.get(progress.index)
        if task is None:
            label = f"[{progress.index}/{progress.count}] {progress.step}"
            task = self._bars.add_task(label, total=None, detail="")
            self._tasks[progress.index] = task
        known = progress.HasField("fraction") or progress.done
        self._bars.update(
            task,
            total=1.0 if known else None,
            completed=1.0 if progress.done else progress.fraction,
            detail="kept from an earlier build" if progress.cached else progress.detail,
        )

    def finished(self, template: pb.Template) -> None:
        """Nothing: the command prints its own last line."""
