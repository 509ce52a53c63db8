"""From tables to what training sees: encoder, files, nominals, units, the table on the device."""

from hedgerow.data.encoder import TableEncoder
from hedgerow.data.nominal import (
    AdaptedNominal,
    EmpiricalNominal,
    NeighbourNominal,
    Nominal,
    NominalDistribution,
)
from hedgerow.data.time_features import TimeFeatures
from hedgerow.data.training_table import Batch, TrainingTable
from hedgerow.data.units import Units

__all__ = [
    "AdaptedNominal",
    "Batch",
    "EmpiricalNominal",
    "NeighbourNominal",
    "Nominal",
    "NominalDistribution",
    "TableEncoder",
    "TimeFeatures",
    "TrainingTable",
    "Units",
]
