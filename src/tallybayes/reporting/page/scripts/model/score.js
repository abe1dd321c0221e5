// The model: values of a row to entries, entries to contributions, scores to probabilities.

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

const normalised = (scores) => {
  const total = logSumExp(scores);
  return scores.map((v) => v - total);
};

const calibrated = (logProba, { beta, knots, values, share }) => {
  const sharp = beta === 1 ? logProba : normalised(logProba.map((v) => beta * v));
  if (!knots.length) return sharp;
  let regressed;
  if (knots.length === 1 && logProba.length === 2) {
    const p = interpolate(knots[0], values[0], logOdds(logProba, 1));
    regressed = [Math.log(1 - p), Math.log(p)];
  } else {
    const each = knots.map((x, c) => interpolate(x, values[c], logOdds(logProba, c)));
    const sum = each.reduce((a, b) => a + b, 0);
    regressed = each.map((v) => Math.log(v) - Math.log(sum));
  }
  if (share === 1) return regressed;
  return regressed.map((v, c) => logSumExp([Math.log(share) + v, Math.log1p(-share) + sharp[c]]));
};

class Model {
  constructor(form) {
    Object.assign(this, unpack(form));
    this.nClasses = this.base.length;
    this.place = new Map(this.columns.map((column, j) => [column.name, j]));
    for (const column of this.columns) {
      column.at = new Map(column.levels.map((level, i) => [level, column.entries[i]]));
    }
  }

  // The entry of a value: a number, a string, or null; −1 adds nothing, −2 is refused.
  entry(column, value) {
    if (value === null || value === undefined || Number.isNaN(value)) return column.missing;
    if (typeof value === "number") {
      if (!column.starts) return this.entry(column, String(value));
      return column.firstNumber + countUpTo(column.starts, value);
    }
    const found = column.at.get(value);
    return found === undefined ? column.other : found;
  }

  // A value as the model has it: of a column of dates, days since 1970 for a date in ISO 8601.
  value(column, given) {
    if (!column.dates || typeof given !== "string" || !/^\d{4}-\d\d-\d\d/.test(given)) return given;
    const days = Date.parse(given.length > 10 ? `${given.replace(" ", "T")}Z` : given) / 864e5;
    return Number.isNaN(days) ? given : days;
  }

  // A value as people write it.
  text(column, value) {
    if (value === null) return "";
    if (!column.dates || typeof value !== "number") return String(value);
    return R.dateText(value);
  }

  // What a typed text means to a column: a level if it is one, else a number, else a string.
  parse(column, text) {
    const plain = text.trim();
    if (plain === "") return null;
    if (column.at.has(text)) return text;
    if (column.at.has(plain)) return plain;
    if (column.dates && typeof this.value(column, plain) === "number") return this.value(column, plain);
    if (column.starts && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) return Number(plain);
    return plain;
  }

  // What is wrong with a value; nothing where the model takes it.
  complaint(column, value) {
    const entry = this.entry(column, value);
    if (typeof value === "number" && !Number.isFinite(value)) return "refusedInfinite";
    if (typeof value === "number" && column.least > 0 && (value < 0 || (value === 0 && column.least > 1))) return column.least > 1 ? "refusedNotPositive" : "refusedNegative";
    if (entry === -2) return value === null ? "refusedMissing" : "refusedLevel";
    return null;
  }

  // Float64Array (n_classes,) for each term; values are in the order of the columns.
  contributions(values) {
    const entries = this.columns.map((column, j) => this.entry(column, values[j]));
    return this.terms.map((term) => this.ofTerm(term, values, entries));
  }

  ofTerm(term, values, entries) {
    const found = new Float64Array(this.nClasses);
    const j = term.columns[0];
    if (term.kind === "cells") return this.row(term.table, entries[j], found);
    if (term.kind === "pair") return this.ofPair(term, entries, found);
    if (term.kind === "group") return this.ofGroup(term, values, found);
    this.row(term.beside, entries[j], found);
    if (typeof values[j] === "number") this.addDensity(term, values[j], found);
    return found;
  }

  row(table, entry, found) {
    if (entry < 0) return found;
    const k = this.nClasses;
    for (let c = 0; c < k; c++) found[c] = table[entry * k + c];
    return found;
  }

  ofPair(term, entries, found) {
    const [i, j] = term.columns;
    if (entries[i] < 0 || entries[j] < 0) return found;
    const a = term.maps[0][entries[i]];
    const b = term.maps[1][entries[j]];
    return a < 0 || b < 0 ? found : this.row(term.table, a * term.sizes[1] + b, found);
  }

  addDensity(term, x, found) {
    const k = this.nClasses;
    if (term.kind === "curve") {
      for (let c = 0; c < k; c++) {
        found[c] += interpolate(term.at, null, x, (i) => term.values[i * k + c]);
      }
      return;
    }
    R.law(term, x, k).forEach((v, c) => { found[c] += v; });
  }

  // A group of numbers; a row that lacks one of them adds nothing here.
  ofGroup(term, values, found) {
    const d = term.columns.length;
    const x = term.columns.map((j) => values[j]);
    if (x.some((v) => typeof v !== "number")) return found;
    for (let c = 0; c < this.nClasses; c++) {
      let q = 0;
      for (let j = 0; j < d; j++) {
        let r = 0;
        for (let i = 0; i <= j; i++) r += term.rotation[(c * d + j) * d + i] * (x[i] - term.mean[c * d + i]);
        const before = q;
        q += r * r;
        found[c] += term.constant[c * d + j];
        if (!term.freedom) found[c] -= 0.5 * r * r;
        else {
          const nu = term.freedom[c];
          found[c] += 0.5 * (nu + j) * Math.log1p(before / nu) - 0.5 * (nu + j + 1) * Math.log1p(q / nu);
        }
      }
    }
    return found;
  }

  scores(contributions) {
    const found = Array.from(this.base);
    for (const said of contributions) for (let c = 0; c < found.length; c++) found[c] += said[c];
    return found;
  }

  probabilities(scores) {
    const { link } = this;
    if (!scores.some((v) => v > -Infinity)) return Array.from(link.ruledOut);
    const found = calibrated(normalised(scores), link).map(Math.exp);
    const share = link.priorShare;
    return share ? found.map((p, c) => Math.min((1 - share) * p + share * link.prior[c], link.most)) : found;
  }

  predict(values) {
    const contributions = this.contributions(values);
    const scores = this.scores(contributions);
    return { contributions, scores, proba: this.probabilities(scores) };
  }

  // The same of a row as an object of values by column name.
  predictRow(row) {
    return this.predict(this.columns.map((column) => {
      const value = row[column.name];
      return value === undefined ? null : this.value(column, value);
    }));
  }
}

R.Model = Model;
R.floats = floats;
R.logSumExp = logSumExp;
R.dateText = (days) => {
  const found = new Date(Math.round(days * 864e5)).toISOString();
  return found.endsWith("T00:00:00.000Z") ? found.slice(0, 10) : found.slice(0, 19);
};
// By how much the score of class k is above the mean score of the others, without a limit.
R.lead = (scores, k) => {
  if (scores.length < 2) return 0;
  if (!scores.every(Number.isFinite)) {
    const top = Math.max(...scores);
    return R.against(scores.map((v) => v - top), k);
  }
  const sum = scores.reduce((a, b) => a + b, 0);
  return scores[k] - (sum - scores[k]) / (scores.length - 1);
};
// Log-odds of class k against all others.
R.odds = (scores, k) => (scores.length < 2 ? 0 : scores[k] - logSumExp(scores.filter((_, c) => c !== k)));

// A score of class k less the mean score of the others, as the columns are shown.
R.against = (said, k) => {
  const clip = (v) => Math.max(-50, Math.min(50, Number.isNaN(v) ? 0 : v));
  if (said.length < 2) return 0;
  let rest = 0;
  for (let c = 0; c < said.length; c++) if (c !== k) rest += clip(said[c]);
  return clip(said[k]) - rest / (said.length - 1);
};
