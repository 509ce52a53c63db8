"""Orders that can be placed, chosen by their expected cost."""

from hedgerow.lots.lots import Lots, PlacedOrders, error_quantiles

__all__ = ["Lots", "PlacedOrders", "error_quantiles"]
