"""A package that fails to load, with words that Rich would take for markup."""

raise RuntimeError("no such thing\nas [/bold] here")
