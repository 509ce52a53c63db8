"""The package as a user gets it: a built wheel in an empty environment, on every Python there is.

    nox                      # or: make wheel
    nox -s wheel-3.12        # one of them

Interpreters that are not installed are skipped and named.
"""

from pathlib import Path

import nox

ROOT = Path(__file__).parent
PYTHONS = ["3.11", "3.12", "3.13"]

nox.options.error_on_missing_interpreters = False
nox.options.default_venv_backend = "venv"


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it with nothing else, and go once through everything."""
    built = Path(session.create_tmp())
    for old in built.glob("*.whl"):
        old.unlink()
    session.install("build")
    session.run("python", "-m", "build", "--wheel", "--outdir", str(built), str(ROOT), silent=True)
    (made,) = built.glob("*.whl")
    session.install(f"hedgerow[cli,plots] @ {made.resolve().as_uri()}")
    session.cd(str(built))  # so that nothing is imported from the sources
    session.run("python", str(ROOT / ".ci" / "smoke.py"))
