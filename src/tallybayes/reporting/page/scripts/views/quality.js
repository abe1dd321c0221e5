// How good: confusions, reliability, ranking, thresholds with costs, learning, what terms are worth.

const { h, s, t, data } = R;

const confusion = () => {
  const { matrix, pairs } = data.confusion;
  if (pairs) {
    const rows = pairs.map(([own, predicted, n]) => [[R.swatch(own), R.label(data.classes[own])], [R.swatch(predicted), R.label(data.classes[predicted])], R.count(n)]);
    return h("div", { class: "card" }, h("h3", {}, t("confusions")), rows.length ? R.table(t("confusions"), [t("own"), t("predicted"), t(`unit_${data.unit}s`)], rows, [2]) : h("p", {}, t("noMistakes")));
  }
  const totals = matrix.map((row) => row.reduce((a, b) => a + b, 0));
  const head = [t("ownPredicted"), ...data.classes.map((label) => R.label(label)), t("recall")];
  const cell = (v, i, j) => {
    const share = totals[i] ? v / totals[i] : 0;
    const box = h("span", { class: `cell ${i === j ? "hit" : "miss"}` }, R.count(v), h("span", { class: "muted small" }, ` ${R.percent(share)}`));
    box.style.setProperty("--share", share.toFixed(3));
    return box;
  };
  const rows = matrix.map((row, i) => [R.label(data.classes[i]), ...row.map((v, j) => cell(v, i, j)), totals[i] ? R.percent(row[i] / totals[i]) : "–"]);
  return h("div", { class: "card confusion" }, h("h3", {}, t("confusion")), R.table(t("confusionNote", { unit: t(`unit_${data.unit}s`) }), head, rows, [...data.classes.map((_, j) => j + 1), data.classes.length + 1]));
};

const reliability = (k) => {
  const r = data.reliability[k];
  const color = R.color(k);
  return R.figure({
    title: t("reliability"), note: t("reliabilityNote"),
    alt: t("reliabilityAlt", { name: R.className(k), n: r.predicted.length }),
    height: 260,
    draw: (width) => R.lines(width, {
      xDomain: [0, 1], yDomain: [0, 1], xLabel: t("predictedShare"), yLabel: t("observedShare"), xFormat: R.tick, yFormat: R.tick,
      bands: [{ points: r.predicted.map((p, i) => [p, r.low[i], r.high[i]]), color }],
      series: [{ points: [[0, 0], [1, 1]], color: "var(--muted)", dash: "4 4", thin: true }, { points: r.predicted.map((p, i) => [p, r.observed[i], `${R.percent(p)} → ${R.percent(r.observed[i])}`]), color, dots: true }],
    }),
    table: () => R.table(t("reliability"), [t("predictedShare"), t("observedShare"), t("interval"), t(`unit_${data.unit}s`)],
      r.predicted.map((p, i) => [R.percent(p), R.percent(r.observed[i]), `${R.percent(r.low[i])} – ${R.percent(r.high[i])}`, R.count(r.weight[i])]), [0, 1, 2, 3]),
  });
};

const rates = (k) => {
  const r = data.ranking[k];
  return r.threshold.map((threshold, i) => ({
    threshold, recall: r.positives ? r.hits[i] / r.positives : 0, fallOut: r.negatives ? r.alarms[i] / r.negatives : 0,
    precision: r.hits[i] / (r.hits[i] + r.alarms[i]), taken: (r.hits[i] + r.alarms[i]) / (r.positives + r.negatives), hits: r.hits[i], alarms: r.alarms[i],
  }));
};

const rateTable = (k) => () => {
  const all = rates(k);
  const some = all.filter((_, i) => i % Math.ceil(all.length / 20) === 0 || i === all.length - 1);
  return R.table(t("thresholds"), [t("threshold"), t("recall"), t("precision"), t("fallOut"), t("lift")],
    some.map((p) => [R.percent(p.threshold), R.percent(p.recall), R.percent(p.precision), R.percent(p.fallOut), R.fixed(p.recall / p.taken)]), [0, 1, 2, 3, 4]);
};

const curves = (k) => {
  const points = rates(k);
  const r = data.ranking[k];
  const color = R.color(k);
  const share = r.positives / (r.positives + r.negatives);
  const lift = points.map((p) => [p.taken, p.recall / p.taken]);
  return [
    R.figure({
      title: t("roc", { auc: r.auc === null ? "–" : R.fixed(r.auc, 4) }), alt: t("rocAlt", { name: R.className(k), auc: r.auc === null ? "–" : R.fixed(r.auc, 3) }), height: 260,
      draw: (width) => R.lines(width, { xDomain: [0, 1], yDomain: [0, 1], xLabel: t("fallOut"), yLabel: t("recall"), xFormat: R.tick, yFormat: R.tick,
        series: [{ points: [[0, 0], [1, 1]], color: "var(--muted)", dash: "4 4", thin: true }, { points: [[0, 0], ...points.map((p) => [p.fallOut, p.recall])], color }] }),
      table: rateTable(k),
    }),
    R.figure({
      title: t("pr", { ap: r.averagePrecision === null ? "–" : R.fixed(r.averagePrecision, 4) }), alt: t("prAlt", { name: R.className(k), ap: r.averagePrecision === null ? "–" : R.fixed(r.averagePrecision, 3), share: R.percent(share) }), height: 260,
      draw: (width) => R.lines(width, { xDomain: [0, 1], yDomain: [0, 1], xLabel: t("recall"), yLabel: t("precision"), xFormat: R.tick, yFormat: R.tick,
        series: [{ points: [[0, share], [1, share]], color: "var(--muted)", dash: "4 4", thin: true }, { points: points.map((p) => [p.recall, p.precision]), color }] }),
      table: rateTable(k),
    }),
    R.figure({
      title: t("lift"), alt: t("liftAlt", { name: R.className(k), best: R.fixed(lift[0]?.[1] ?? 1) }), height: 260,
      draw: (width) => R.lines(width, { xDomain: [0, 1], yDomain: [0, Math.max(1.2, ...lift.map((p) => p[1]))], xLabel: t("taken"), yLabel: t("lift"), xFormat: R.tick,
        series: [{ points: [[0, 1], [1, 1]], color: "var(--muted)", dash: "4 4", thin: true }, { points: lift, color }] }),
      table: rateTable(k),
    }),
  ];
};

// A threshold for two classes, with what each kind of error costs.
const threshold = (k) => {
  const points = rates(k);
  const { positives, negatives } = data.ranking[k];
  const other = 1 - k;
  const miss = h("input", { type: "number", min: "0", step: "any", value: "1" });
  const alarm = h("input", { type: "number", min: "0", step: "any", value: "1" });
  const slider = h("input", { type: "range", min: "0", max: "1", step: "0.005", "aria-label": t("threshold") });
  slider.value = 0.5;
  const result = h("div", { class: "tiles" });
  const advice = h("p", {});
  const at = (value) => points.filter((p) => p.threshold >= value).at(-1) ?? { recall: 0, fallOut: 0, precision: null, hits: 0, alarms: 0 };
  const cost = (p) => Number(miss.value) * (positives - p.hits) + Number(alarm.value) * p.alarms;
  let holder = null;
  const update = () => {
    const p = at(Number(slider.value));
    const small = (label, value) => h("div", { class: "tile" }, h("div", { class: "name" }, label), h("div", { class: "big" }, value));
    result.replaceChildren(small(t("threshold"), R.percent(Number(slider.value))), small(t("recall"), R.percent(p.recall)), small(t("precision"), p.precision === null ? "–" : R.percent(p.precision)),
      small(t("accuracy"), R.percent((p.hits + negatives - p.alarms) / (positives + negatives))), small(t("cost"), R.few(cost(p))));
    const best = points.reduce((a, b) => (cost(b) < cost(a) ? b : a), { threshold: 1.0001, hits: 0, alarms: 0 });
    const calibrated = Number(alarm.value) / (Number(alarm.value) + Number(miss.value));
    advice.textContent = t("thresholdAdvice", { best: best.threshold > 1 ? "> 100 %" : R.percent(best.threshold), cost: R.few(cost(best)), rule: Number.isFinite(calibrated) ? R.percent(calibrated) : "–" });
    holder?.repaint();
  };
  for (const input of [miss, alarm, slider]) input.addEventListener("input", update);
  holder = R.figure({
    alt: t("costAlt", { name: R.className(k) }), height: 220,
    draw: (width) => {
      const all = points.map((p) => [p.threshold, cost(p)]).reverse();
      const most = Math.max(1e-9, ...all.map((p) => p[1]));
      return R.lines(width, { height: 220, xDomain: [0, 1], yDomain: [0, most], xLabel: t("threshold"), yLabel: t("cost"), xFormat: R.tick, series: [{ points: all, color: R.color(k) }],
        extra: (x, y, { top, hgt }) => s("line", { x1: x(Number(slider.value)), x2: x(Number(slider.value)), y1: top, y2: top + hgt, class: "drop" }) });
    },
    table: () => R.table(t("cost"), [t("threshold"), t("cost")], points.filter((_, i) => i % Math.ceil(points.length / 20) === 0).map((p) => [R.percent(p.threshold), R.few(cost(p))]), [0, 1]),
  });
  update();
  return h("div", { class: "card" }, h("h3", {}, t("thresholdTitle", { name: R.className(k) })), h("p", { class: "muted small" }, t("thresholdIntro", { name: R.className(k), other: R.className(other) })),
    h("div", { class: "tools" }, h("label", { class: "choice" }, h("span", {}, t("threshold")), slider), h("label", { class: "choice" }, h("span", {}, t("costMiss", { name: R.className(k, 20) })), miss), h("label", { class: "choice" }, h("span", {}, t("costAlarm", { name: R.className(k, 20) })), alarm)),
    result, advice, holder);
};

const learning = () => {
  const l = data.learning;
  if (!l) return h("div", { class: "card" }, h("h3", {}, t("learning")), h("p", { class: "muted" }, t("noLearningCurve")));
  const finite = l.rows.map((n, i) => [Math.log10(n), l.logLoss[i]]).filter((p) => p[1] !== null);
  const accuracy = l.rows.map((n, i) => [Math.log10(n), l.accuracy[i]]);
  const xs = accuracy.map((p) => p[0]);
  const xDomain = [Math.min(...xs), Math.max(...xs)];
  const ticks = l.rows.filter((_, i) => i % 3 === 0).map((n) => Math.log10(n));
  const format = (v) => R.whole(Math.round(10 ** v));
  const table = () => R.table(t("learning"), [t("rowsLearned"), t("accuracy"), t("logLoss")], l.rows.map((n, i) => [R.whole(n), R.percent(l.accuracy[i]), R.few(l.logLoss[i])]), [0, 1, 2]);
  const low = Math.min(...accuracy.map((p) => p[1]));
  return h("div", { class: "card" }, h("h3", {}, t("learning")), h("p", { class: "muted small" }, t(l.refitted ? "learningRefitted" : "learningNote")),
    R.figure({ title: t("accuracy"), alt: t("learningAlt", { first: R.percent(l.accuracy[0]), last: R.percent(l.accuracy.at(-1)), n: R.whole(l.rows.at(-1)) }), height: 220,
      draw: (width) => R.lines(width, { height: 220, xDomain, yDomain: [Math.max(0, low - 0.05), Math.min(1, Math.max(...accuracy.map((p) => p[1])) + 0.02)], xLabel: t("rowsLearned"), xFormat: format, yFormat: R.tick, xTicks: ticks, series: [{ points: accuracy, color: "var(--accent)", dots: true }] }), table }),
    finite.length > 1 && R.figure({ title: t("logLoss"), alt: t("learningLossAlt", { first: R.few(finite[0][1]), last: R.few(finite.at(-1)[1]) }), height: 220,
      draw: (width) => R.lines(width, { height: 220, xDomain, yDomain: [0, Math.max(...finite.map((p) => p[1])) * 1.05], xLabel: t("rowsLearned"), xFormat: format, xTicks: ticks, series: [{ points: finite, color: "var(--accent)", dots: true }] }), table }));
};

const worth = () => {
  if (!data.worth?.length) return null;
  const shown = data.worth.slice(0, 20);
  return h("div", { class: "card" }, h("h3", {}, t("worth")), h("p", { class: "muted small" }, t("worthNote")),
    R.figure({ alt: t("worthAlt", { top: shown.slice(0, 3).map(([n, v]) => `${R.plain(n)} ${R.signed(v, 4)}`).join(", ") }), height: shown.length * 24 + 8,
      draw: (width) => R.diverging(width, shown.map(([n, v]) => [n, v ?? 0, (v ?? 0) >= 0 ? "var(--accent)" : "var(--against)", R.signed(v ?? 0, 4)])),
      table: () => R.table(t("worth"), [t("term"), t("natsRow")], data.worth.map(([n, v]) => [R.label(n), v === null ? "∞" : R.signed(v, 5)]), [1]) }));
};

R.quality = (body) => {
  const classes = Object.keys(data.ranking).map(Number);
  let target = classes.includes(R.target()) ? R.target() : classes[0];
  const holder = h("div", {});
  const build = () => holder.replaceChildren(
    h("div", { class: "grid2" }, [reliability(target), ...curves(target)].map((figure) => h("div", { class: "card" }, figure))),
    ...(data.classes.length === 2 && classes.length === 2 ? [threshold(target)] : []));
  body.append(h("p", {}, t("qualityIntro")), confusion(),
    classes.length > 1 && h("div", { class: "tools" }, R.classChoice(t("curvesOf"), target, (k) => { target = k; build(); R.paint(); }, classes)));
  if (classes.length) { build(); body.append(holder); }
  const rest = [worth(), learning()].filter(Boolean);
  body.append(h("div", { class: "grid2" }, rest));
};
