// A model of documents as the page asks it; the page may have some of its terms only.

class TextModel extends R.Terms {
  constructor(form) {
    super(form.text);
    this.all = form.all;
    this.base = R.floats(form.base);
  }

  predict(counts) {
    const contributions = this.contributions(counts);
    const scores = Array.from(this.base);
    for (const [, said] of contributions) for (let c = 0; c < scores.length; c++) scores[c] += said[c];
    return { contributions, scores, proba: this.probabilities(scores) };
  }

  probabilities(scores) {
    if (!scores.some((v) => v > -Infinity)) return scores.map(() => 1 / scores.length);
    const total = R.logSumExp(scores);
    return scores.map((v) => Math.exp(v - total));
  }
}

R.TextModel = TextModel;

// Steps of a prediction: the terms, the largest first.
R.textSteps = (model, counts, found, favour, against) => {
  const steps = found.contributions.map(([t, said]) => {
    const n = counts.get(t);
    return [model.names[t], n > 1 ? `× ${n}` : "", said[favour] - said[against]];
  }).filter((step) => step[2] !== 0 && !Number.isNaN(step[2])).sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
  const rest = steps.slice(14);
  return {
    favour, against, base: model.base[favour] - model.base[against], steps: steps.slice(0, 14), all: steps,
    rest: rest.reduce((sum, step) => sum + step[2], 0), nRest: rest.length,
  };
};
