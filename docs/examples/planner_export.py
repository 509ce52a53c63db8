"""A bakery's sales as a German spreadsheet exports them, for the planner's guide.

Semicolons, decimal commas, dates such as 20.11.2026, an umlaut in Windows' own encoding, columns
for shop and item, and one day on which somebody typed three zeros too many. It writes four files
into the current folder:

    verkauf.csv   what four shops sold of three items, until the end of March
    april.csv     April, with what was ordered then
    heute.csv     everything until this evening
    morgen.csv    tomorrow: what is known of it, and no sales yet
"""

import numpy as np

import hedgerow as hr

SHOPS, BEGIN, TODAY = (4, 17, 19, 21), "2017-07-01", "2019-04-29"

bakery = hr.datasets.load_bakery()
bakery = bakery[bakery["store"].isin(SHOPS) & (bakery["date"] >= BEGIN)].reset_index(drop=True)
bakery = bakery.sort_values(["date", "store", "product"], ignore_index=True)

# what the shops ordered until now: a tenth more than the mean of the last four such weekdays
series = bakery.assign(weekday=bakery["date"].dt.day_of_week).groupby(
    ["store", "product", "weekday"]
)
usual = series["demand"].transform(lambda sold: sold.shift(1).rolling(4).mean())

export = bakery[["date", "store", "product", "demand"]].copy()
export.columns = ["Datum", "Filiale", "Artikel", "Absatz"]
export["Feiertag"] = bakery["is_holiday"]
export["Aktion"] = bakery["promotion_currentweek"]
export["Höchsttemperatur"] = bakery["temperature"].round(1)
export["bestellt"] = np.ceil(1.1 * usual)
export["Absatz"] = export["Absatz"].astype(float)
busiest = export[export["Datum"] < "2019-01-01"]["Absatz"].idxmax()
export.loc[busiest, "Absatz"] *= 1000  # the typo


def write(rows, path):
    """Write a table as a spreadsheet program set to German does."""
    rows.to_csv(path, sep=";", decimal=",", date_format="%d.%m.%Y", index=False, encoding="cp1252")
    print(f"{path}: {len(rows):,} rows")


march, today = export["Datum"] < "2019-04-01", export["Datum"] < TODAY
write(export[march].drop(columns="bestellt"), "verkauf.csv")
write(export[~march & today], "april.csv")
write(export[today].drop(columns="bestellt"), "heute.csv")
write(export[export["Datum"] == TODAY].drop(columns=["Absatz", "bestellt"]), "morgen.csv")
