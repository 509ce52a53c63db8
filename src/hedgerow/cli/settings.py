"""Settings of parts, from a file (``--config``) and one by one (``--set``).

A file in TOML holds options of ``hedgerow fit`` by their names, and a table for each part:

    outcome = "demand"              # --outcome demand
    holding = 1                     # --holding 1
    [ambiguity]
    part = "CausalSinkhorn"         # a class of hedgerow's, or of an installed package
    penalty = 5.0                   # one of its parameters
    [rule]
    depth = [2, 3, 5]
    [search]
    penalties = [1, 3, 10]

A parameter that is a part is a table with a ``part`` again. Options on the command line win over
the file, and ``--set rule.depth=[2,3]`` over both. What a table does not name is as the command has
it without a file. Nothing here needs JAX; ``cli.building`` makes parts of the tables.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.cli.panel_options import option
from hedgerow.describe.numbers import listed

SECTIONS = ("loss", "ambiguity", "rule", "nominal", "solver", "search")
"""Tables of a file: a policy's parts, and what a search tries."""
Settings = dict[str, Any]


def take_options(ctx: typer.Context, path: Path | None) -> Path | None:
    """Let options have what a file says, where the command line says nothing."""
    if path is None or ctx.resilient_parsing:
        return path
    own = {param.name: param for param in ctx.command.params if param.name not in _NOT_IN_FILES}
    by_name = {str(_spoken(param)): name for name, param in own.items()}
    found: Settings = {}
    for key, value in _without_sections(_read(path)).items():
        name = by_name.get(key.replace("_", "-"))
        if name is None:
            known = f"tables {listed(SECTIONS)}, and options of hedgerow fit: {', '.join(by_name)}"
            raise typer.BadParameter(f"{path} has an entry {key!r}; it may have {known}.")
        found[name] = _as_option(own[name], f"{path}: {key}", value)
    ctx.default_map = {**(ctx.default_map or {}), **found}
    return path


@dataclass(frozen=True, kw_only=True)
class SettingsOptions:
    """What any part can be asked for, by a file or one by one."""

    config: Annotated[
        Path | None,
        option(
            "FILE",
            "Settings in TOML: options by name, and tables loss, ambiguity, rule, nominal, solver "
            "and search; options given here win.",
            callback=take_options,
            is_eager=True,
            exists=True,
            dir_okay=False,
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE",
            "One setting of any part, as in the file: rule.temperature=0.5, solver.part=SAA; may "
            "be repeated.",
            "--set",
        ),
    ] = None
    write_config: Annotated[
        Path | None, option("FILE", "Also write all settings that were used, as --config reads.")
    ] = None

    @cached_property
    def sections(self) -> dict[str, Settings]:
        """Tables of the file, with what was set one by one."""
        found: Settings = {}
        if self.config is not None:
            read = _read(self.config)
            found = {name: read[name] for name in SECTIONS if name in read}
            for name, table in found.items():
                if not isinstance(table, dict):
                    raise ValueError(
                        f"{self.config}: {name} must be a table, [{name}], got {table!r}."
                    )
        for text in self.set_ or []:
            _put(found, text)
        return found

    def section(self, name: str) -> Settings:
        """One table, empty if nothing was said."""
        return dict(self.sections.get(name, {}))


def write_settings(path: Path, options: Settings, sections: Mapping[str, Settings]) -> None:
    """Write options and tables as TOML."""
    from hedgerow._files import whole_file

    with whole_file(path) as temporary:
        temporary.write_text(as_toml(options, sections), encoding="utf-8")


def as_toml(options: Settings, sections: Mapping[str, Settings]) -> str:
    """Options and tables as a text of TOML; what is None is left out."""
    lines = [f"{key} = {_value(value)}" for key, value in options.items() if value is not None]
    for name, table in sections.items():
        lines += ["", f"[{name}]"]
        lines += [f"{key} = {_value(value)}" for key, value in table.items() if value is not None]
    return "\n".join(lines) + "\n"


_NOT_IN_FILES = ("config", "set_", "write_config", "force")


def _spoken(param: Any) -> str:
    """What an option is called, without its dashes."""
    longest = max(param.opts, key=len)
    return longest.removeprefix("--")


def _as_option(param: Any, where: str, value: Any) -> Any:
    """A value of TOML as what was written behind an option."""
    if isinstance(value, Mapping) or (isinstance(value, list) and any(map(_is_nested, value))):
        raise typer.BadParameter(f"{where} must be a plain value or a list of them, got {value!r}.")
    if param.multiple:
        return [str(one) for one in (value if isinstance(value, list) else [value])]
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, bool) != bool(getattr(param, "is_flag", False)):
        allowed = "true or false" if not isinstance(value, bool) else "a value, not true or false"
        raise typer.BadParameter(f"{where} must be {allowed}, got {value!r}.")
    return value if isinstance(value, bool) else str(value)


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | Mapping)


def _read(path: Path) -> Settings:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path} is not valid TOML: {error}.") from None


def _without_sections(read: Settings) -> Settings:
    return {key: value for key, value in read.items() if key not in SECTIONS}


def _put(found: Settings, text: str) -> None:
    """Put what KEY=VALUE says in its place; a value that is no TOML is a text."""
    key, equals, value = text.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or len(names) < 2 or names[0] not in SECTIONS or not all(names):
        raise ValueError(
            f"--set {text!r} must be PART.NAME=VALUE, such as rule.depth=3, where the part is "
            f"{listed(SECTIONS)}."
        )
    try:
        said = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        said = value.strip()
    for name in names[:-1]:
        inside = found.setdefault(name, {})
        if not isinstance(inside, dict):
            raise ValueError(f"--set {text!r}: {name} is {inside!r}, which has no settings.")
        found[name] = found = dict(inside)
    found[names[-1]] = said


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inside = (f"{key} = {_value(each)}" for key, each in value.items() if each is not None)
        return f"{{ {', '.join(inside)} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, int | float):
        return repr(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)
    return f'"{plain}"'
