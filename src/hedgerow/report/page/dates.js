// Dates: an axis of them, and what a calendar says of one. Days are counted from 1970.

const DAY = 86400000;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const dateOf = (day) => new Date(Math.round(day * 1440) * 60000);

// A day in words; times of day only where there are any.
function dateWords(day) {
  if (!DATA.dated) return shown(day, 9);
  const date = dateOf(day);
  const clock = date.getUTCHours() || date.getUTCMinutes();
  const text = date.toISOString();
  return clock ? `${text.slice(0, 10)} ${text.slice(11, 16)}` : text.slice(0, 10);
}

// Days to mark between two, with their labels: every so many months, or every so many days.
function dateTicks(low, high, most) {
  if (!DATA.dated) return ticks(low, high, most).map((at) => ({ at, label: shown(at, 9) }));
  const months = (high - low) / 30.4;
  if (months < most / 2) {
    const step = [1, 2, 7, 14, 28].find((days) => (high - low) / days <= most) ?? 28;
    const found = [];
    // from a Monday on: day 4 of 1970 was one
    for (let at = 4 + Math.ceil((low - 4) / step) * step; at <= high; at += step) {
      const date = dateOf(at);
      found.push({ at, label: `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}` });
    }
    return found;
  }
  const step = [1, 2, 3, 6, 12, 24, 60, 120].find((some) => months / some <= most) ?? 240;
  const begin = dateOf(low);
  let month = begin.getUTCFullYear() * 12 + begin.getUTCMonth();
  month = Math.ceil(month / step) * step;
  const found = [];
  for (; ; month += step) {
    const [year, nth] = [Math.floor(month / 12), month % 12];
    const at = Date.UTC(year, nth, 1) / DAY;
    if (at > high) return found;
    if (at >= low) found.push({ at, label: step >= 12 ? `${year}` : `${MONTHS[nth]} ${year}` });
  }
}

const isLeap = (year) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

// Parts of an ISO date, as Python has them (weekday 0: Monday); null if it is none.
function dateParts(text) {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)?.map(Number) ?? [];
  const lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  if (!(day >= 1 && day <= lengths[month - 1])) return null;
  const day_of_year = lengths.slice(0, month - 1).reduce((a, b) => a + b, 0) + day;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const angle = (2 * Math.PI * (day_of_year - 1)) / (isLeap(year) ? 366 : 365);
  return {
    weekday: (date.getUTCDay() + 6) % 7,
    month,
    day_of_year,
    day,
    year,
    season_sin: Math.sin(angle),
    season_cos: Math.cos(angle),
  };
}

const CALENDAR = ["weekday", "month", "day_of_year"]; // what a column of dates is encoded as
