// The score as a form (export/form.py): values of a row to entries, entries to what terms add,
// scores to probabilities.

const floats = (packed) => {
  const raw = atob(packed.b64);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Float64Array(bytes.buffer);
};

const unpack = (value) => {
  if (Array.isArray(value)) return value.map(unpack);
  if (value && typeof value === "object") {
    if (typeof value.b64 === "string") return floats(value);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpack(item)]));
  }
  return value;
};

// How many entries of an ascending array are at or below x.
const countUpTo = (starts, x) => {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
};

// A number as a level, as Python writes it: whole numbers below 2⁶⁴ without a point, others as repr.
const textOf = (x) => {
  if (Number.isInteger(x) && Math.abs(x) < 2 ** 64) return BigInt(x).toString();
  const size = Math.abs(x);
  if (size >= 1e-4 && size < 1e16) return String(x);
  const [digits, power] = x.toExponential().split("e");
  return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
};

const logSumExp = (values) => {
  let top = -Infinity;
  for (const v of values) if (v > top) top = v;
  if (top === -Infinity) return -Infinity;
  let sum = 0;
  for (const v of values) sum += Math.exp(v - top);
  return top + Math.log(sum);
};

const interpolate = (xs, ys, x, at = (i) => ys[i]) => {
  const n = xs.length;
  if (x <= xs[0]) return at(0);
  if (x >= xs[n - 1]) return at(n - 1);
  const i = countUpTo(xs, x);
  const share = (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
  return at(i - 1) + share * (at(i) - at(i - 1));
};

const logOdds = (logProba, c) => {
  let top = -1e5;
  logProba.forEach((v, j) => { if (j !== c && v > top) top = v; });
  let sum = 0;
  logProba.forEach((v, j) => { if (j !== c) sum += Math.exp(v - top); });
  const rest = top + Math.log(Math.max(sum, 1e-300));
  return Math.min(1e4, Math.max(-1e4, Math.max(logProba[c], -1e5) - rest));
};

// The isotonic map of each class's log-odds, normalised; of two classes that of the second.
const regressed = (scores, { knots, values }) => {
  const total = logSumExp(scores);
  const logProba = scores.map((v) => v - total);
  if (knots.length === 1 && scores.length === 2) {
    const p = interpolate(knots[0], values[0], logOdds(logProba, 1));
    return [1 - p, p];
  }
  const each = knots.map((x, c) => interpolate(x, values[c], logOdds(logProba, c)));
  const sum = each.reduce((a, b) => a + b, 0);
  return each.map((v) => v / sum);
};

const firstLargest = (values) => {
  let best = 0;
  for (let c = 1; c < values.length; c++) if (values[c] > values[best]) best = c;
  return best;
};

const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

// A run of terms, whose arrays are one, as the terms.
const single = (term, k) => {
  if (term.kind !== "run") return [term];
  let at = 0;
  return term.columns.map((j, i) => {
    if (term.of === "cells") {
      const start = at;
      at += term.sizes[i] * k;
      return { kind: "cells", columns: [j], table: term.table.subarray(start, at) };
    }
    const found = { kind: "law", law: term.of, columns: [j], beside: new Float64Array(2 * k) };
    for (const name of ["mean", "constant", "slope", "scale"]) {
      found[name] = term[name] ? term[name].subarray(i * k, (i + 1) * k) : new Float64Array(k);
    }
    return found;
  });
};

class Score {
  constructor(form) {
    Object.assign(this, unpack(form));
    this.nClasses = this.base.length;
    this.columns = this.columns.map((column) => ({ ...this.common, ...column }));
    this.terms = this.terms.flatMap((term) => single(term, this.nClasses));
    for (const term of this.terms) if (term.kind === "text") term.text = new R.Terms(term);
    this.place = new Map(this.columns.map((column, j) => [column.name, j]));
    for (const column of this.columns) {
      column.at = new Map(column.levels.map((level, i) => [level, column.entries[i]]));
    }
  }

  // A value as the model has it: a number, a string, or null; of a column of dates days since 1970.
  value(column, given) {
    if (given === undefined || given === null || Number.isNaN(given)) return null;
    if (typeof given === "boolean") return column.starts ? Number(given) : given ? "True" : "False";
    if (typeof given === "bigint") return column.starts ? Number(given) : given.toString();
    if (given instanceof Date) {
      const days = given / 864e5;
      if (Number.isNaN(days)) return null;
      return column.starts && column.dates ? days : R.dateText(days);
    }
    if (!column.starts || typeof given !== "string" || column.at.has(given)) return given;
    if (!column.dates) {
      if (given === "True" || given === "False") return Number(given === "True");
      return NUMBER.test(given) && Number.isFinite(Number(given)) ? Number(given) : given;
    }
    if (!/^\d{4}-\d\d-\d\d/.test(given)) return given;
    const zoned = given.length <= 10 || /(Z|[+-]\d\d:?\d\d)$/.test(given);
    const days = Date.parse(zoned ? given : `${given.replace(" ", "T")}Z`) / 864e5;
    return Number.isNaN(days) ? given : days;
  }

  // The entry of a value; −1 adds nothing, −2 is refused.
  entry(column, value) {
    if (value === null || value === undefined || Number.isNaN(value)) return column.missing;
    if (typeof value === "number" && column.starts) return column.firstNumber + countUpTo(column.starts, value);
    const found = column.at.get(typeof value === "number" ? textOf(value) : value);
    return found === undefined ? column.other : found;
  }

  // What is wrong with a value; nothing where the model takes it.
  complaint(column, value, entry = this.entry(column, value)) {
    if (typeof value === "number") {
      if (value === Infinity || value === -Infinity) return "refusedInfinite";
      if (column.least > 0 && (value < 0 || (value === 0 && column.least > 1))) return column.least > 1 ? "refusedNotPositive" : "refusedNegative";
      if (column.codes) {
        const code = column.codes === "truncated" ? Math.trunc(value) : value;
        if (code < 0 || !Number.isInteger(code) || entry === column.refusedFrom) return "refusedLevel";
      }
    }
    if (entry === -2) return value === null ? "refusedMissing" : "refusedLevel";
    return null;
  }

  // Adds what a term adds to the score of each class.
  add(term, values, entries, found) {
    const j = term.columns[0];
    if (term.kind === "cells") this.addRow(term.table, entries[j], found);
    else if (term.kind === "joint") this.addJoint(term, entries, found);
    else if (term.kind === "group") this.addGroup(term, values, found);
    else if (term.kind === "text") this.addText(term, values[j], found);
    else {
      this.addRow(term.beside, entries[j], found);
      if (typeof values[j] === "number") this.addDensity(term, values[j], found);
    }
  }

  addRow(table, entry, found) {
    if (entry < 0) return;
    const k = this.nClasses;
    for (let c = 0, i = entry * k; c < k; c++, i++) found[c] += table[i];
  }

  addJoint(term, entries, found) {
    let place = 0;
    for (let i = 0; i < term.columns.length; i++) {
      const entry = entries[term.columns[i]];
      const coarser = entry < 0 ? -1 : term.maps[i][entry];
      if (coarser < 0) return;
      place = place * term.sizes[i] + coarser;
    }
    this.addRow(term.table, place, found);
  }

  addDensity(term, x, found) {
    const k = this.nClasses;
    if (term.kind === "curve") {
      for (let c = 0; c < k; c++) {
        found[c] += interpolate(term.at, null, x, (i) => term.values[i * k + c]);
      }
      return;
    }
    const said = R.law(term, x, k);
    for (let c = 0; c < k; c++) found[c] += said[c];
  }

  // Numbers that are scored together: each given those before it that have a value.
  addGroup(term, values, found) {
    const k = this.nClasses;
    const d = term.columns.length;
    const square = new Float64Array(k);
    let held = 0;
    let n = 0;
    for (let j = 0; j < d; j++) {
      if (typeof values[term.columns[j]] !== "number") continue;
      const step = term.every ? 0 : held;
      const { weights, constants } = term.steps[j];
      for (let c = 0; c < k; c++) {
        let r = 0;
        for (let i = 0; i <= j; i++) {
          const w = weights[(step * k + c) * d + i];
          if (w !== 0) r += w * (values[term.columns[i]] - term.mean[c * d + i]);
        }
        square[c] += r * r;
        found[c] += constants[step * k + c];
      }
      held |= 1 << j;
      n += 1;
    }
    for (let c = 0; c < k; c++) {
      if (!term.freedom) found[c] -= 0.5 * square[c];
      else found[c] -= 0.5 * (term.freedom[c] + n) * Math.log1p(square[c] / term.freedom[c]);
    }
  }

  addText({ text }, value, found) {
    if (value === null) return;
    for (const [, said] of text.contributions(text.counts(typeof value === "number" ? textOf(value) : value))) {
      for (let c = 0; c < this.nClasses; c++) found[c] += said[c];
    }
  }

  probabilities(scores) {
    const { link } = this;
    let top = -Infinity;
    for (const s of scores) if (s > top) top = s;
    if (top === -Infinity) return Array.from(link.ruledOut);
    let found = scores.map((s) => Math.exp(link.beta * (s - top)));
    const sum = found.reduce((a, b) => a + b, 0);
    found = found.map((e) => e / sum);
    if (link.knots.length) {
      const { share } = link;
      found = regressed(scores, link).map((p, c) => share * p + (1 - share) * found[c]);
    }
    const share = link.priorShare;
    return share ? found.map((p, c) => Math.min((1 - share) * p + share * link.prior[c], link.most)) : found;
  }

  // The place of the label: of equal scores the first.
  best(scores) {
    const { link } = this;
    if (link.knots.length || link.priorShare) return firstLargest(this.probabilities(scores));
    const best = firstLargest(scores);
    return scores[best] === -Infinity ? link.fallback : best;
  }

  // The scores of a row as an object of values by column name; an error for a value that is refused.
  scoresOf(given) {
    const row = typeof given === "string" ? { [this.columns[0].name]: given } : given;
    const values = [];
    const entries = [];
    for (const column of this.columns) {
      const value = this.value(column, Object.hasOwn(row, column.name) ? row[column.name] : null);
      const entry = this.entry(column, value);
      if (entry === -2 || typeof value === "number") {
        const complaint = this.complaint(column, value, entry);
        if (complaint) throw new RangeError(`${column.name}: the model does not take ${value}`);
      }
      values.push(value);
      entries.push(entry);
    }
    const found = Array.from(this.base);
    for (const term of this.terms) this.add(term, values, entries, found);
    return found;
  }
}

R.Score = Score;
R.dateText = (days) => {
  const found = new Date(Math.round(days * 864e5)).toISOString();
  return found.endsWith("T00:00:00.000Z") ? found.slice(0, 10) : found.slice(0, 19);
};
R.floats = floats;
R.logSumExp = logSumExp;
