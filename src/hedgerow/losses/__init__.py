"""Losses Ψ(z, y): what a decision costs once the outcome is known."""

from hedgerow.losses.base import Loss, RescaledLoss
from hedgerow.losses.custom import CustomLoss
from hedgerow.losses.newsvendor import Newsvendor

__all__ = ["CustomLoss", "Loss", "Newsvendor", "RescaledLoss"]
