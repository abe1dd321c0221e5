// The model as a reader of the page asks it: typed values, what each term adds, and comparisons.

const { logSumExp } = R;

class Model extends R.Score {
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

  // Float64Array (n_classes,) for each term; values are in the order of the columns.
  contributions(values) {
    const entries = this.columns.map((column, j) => this.entry(column, values[j]));
    return this.terms.map((term) => this.ofTerm(term, values, entries));
  }

  ofTerm(term, values, entries) {
    const found = new Float64Array(this.nClasses);
    this.add(term, values, entries, found);
    return found;
  }

  scores(contributions) {
    const found = Array.from(this.base);
    for (const said of contributions) for (let c = 0; c < found.length; c++) found[c] += said[c];
    return found;
  }

  predict(values) {
    const contributions = this.contributions(values);
    const scores = this.scores(contributions);
    return { contributions, scores, proba: this.probabilities(scores) };
  }

  // The same of a row as an object of values by column name.
  predictRow(row) {
    return this.predict(this.columns.map((column) => this.value(column, row[column.name])));
  }
}

R.Model = Model;
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
