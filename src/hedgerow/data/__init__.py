"""From tables to what training sees: encoder, files, nominals, units, the table on the device."""

# ruff: noqa: F401 (the imports below tell type checkers what the names are)

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.data.encoder import TableEncoder
    from hedgerow.data.nominal import (
        AdaptedNominal,
        EmpiricalNominal,
        NeighbourNominal,
        Nominal,
        NominalDistribution,
    )
    from hedgerow.data.table_files import read_table
    from hedgerow.data.table_writing import write_table
    from hedgerow.data.time_features import TimeFeatures
    from hedgerow.data.training_table import Batch, TrainingTable
    from hedgerow.data.units import Units

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "encoder": "TableEncoder",
        "nominal": "AdaptedNominal EmpiricalNominal NeighbourNominal Nominal NominalDistribution",
        "table_files": "read_table",
        "table_writing": "write_table",
        "time_features": "TimeFeatures",
        "training_table": "Batch TrainingTable",
        "units": "Units",
    },
)
