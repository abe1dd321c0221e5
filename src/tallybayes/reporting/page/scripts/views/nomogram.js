// The nomogram: what each value of each column adds, and the probability of the values chosen.

const { h, s, t, data } = R;

const ROWS = 25;

// Values of a column to choose from, with what each adds by itself.
const options = (model, j) => {
  const column = model.columns[j];
  const facts = R.facts.get(column.name);
  const found = [];
  const bins = facts?.bins ?? [];
  const total = bins.reduce((a, bin) => a + bin.rows, 0) || 1;
  for (const bin of bins) {
    const share = bin.rows / total;
    if (bin.missing) found.push({ label: t("missing"), value: null, share });
    else if (bin.number) found.push({ label: bin.label, short: column.dates ? R.dateText(bin.low).slice(0, 10) : bin.label, value: bin.value, number: true, share });
    else if (column.at.has(bin.label)) found.push({ label: R.plain(bin.label), value: bin.label, share });
  }
  return found;
};

const alone = (model, j, value) => {
  const term = model.terms.find((item) => item.columns.length === 1 && item.columns[0] === j);
  if (!term) return new Float64Array(model.nClasses);
  const values = model.columns.map(() => null);
  values[j] = value;
  return model.ofTerm(term, values, model.columns.map((column, i) => model.entry(column, values[i])));
};

R.state = { values: null, listeners: [] };
R.choose = (values, from) => {
  R.state.values = values;
  for (const listener of R.state.listeners) if (listener !== from) listener(values);
};

// The usual row: the most frequent value of each column.
R.usual = (model) => model.columns.map((column, j) => {
  const bins = (R.facts.get(column.name)?.bins ?? []).filter((bin) => !bin.missing);
  if (!bins.length) return column.missing === -2 ? 0 : null;
  const best = bins.reduce((a, b) => (b.rows > a.rows ? b : a));
  return best.number ? best.value : model.columns[j].at.has(best.label) ? best.label : null;
});

const control = (model, j, change) => {
  const column = model.columns[j];
  const found = options(model, j);
  const name = R.plain(column.name, 60);
  const numeric = found.filter((item) => item.number);
  if (numeric.length > 1 && numeric.length === found.filter((item) => item.value !== null).length) {
    const facts = R.facts.get(column.name);
    const bins = facts.bins.filter((bin) => bin.number);
    const low = Math.min(...bins.map((bin) => bin.low));
    const high = Math.max(...bins.map((bin) => bin.high));
    const whole = bins.every((bin) => Number.isInteger(bin.low) && Number.isInteger(bin.high));
    const few = bins.every((bin) => bin.low === bin.high);
    const step = whole ? 1 : Number(((high - low) / 400).toPrecision(2));
    const range = h("input", { type: "range", "aria-label": name, oninput: () => { number.value = column.dates ? R.dateText(Number(range.value)).slice(0, 10) : range.value; change(few ? nearest(bins, Number(range.value)) : Number(range.value)); } });
    range.min = low; range.max = high; range.step = step || "any";
    const number = h("input", { type: column.dates ? "date" : "number", step: "any", "aria-label": t("valueOf", { name }), onchange: () => change(model.parse(column, number.value)) });
    const show = (value) => { number.value = column.dates ? model.text(column, value).slice(0, 10) : value ?? ""; if (value !== null) range.value = value; };
    return { element: h("span", { class: "control" }, range, number), show };
  }
  const select = h("select", { "aria-label": name, onchange: () => change(found[select.selectedIndex].value) },
    found.map((item) => h("option", {}, item.label)));
  const show = (value) => {
    let at = found.findIndex((item) => item.value === value || (item.value !== null && String(item.value) === String(value)));
    if (at < 0) { found.push({ label: R.plain(String(value)), value }); select.append(h("option", {}, R.plain(String(value)))); at = found.length - 1; }
    select.selectedIndex = at;
  };
  return { element: h("span", { class: "control" }, select), show };
};

const nearest = (bins, value) => bins.reduce((a, b) => (Math.abs(b.low - value) < Math.abs(a.low - value) ? b : a)).low;

const limited = (domain, v) => Math.max(domain[0], Math.min(domain[1], v));

const strip = (model, j, target, domain, values) => {
  const found = options(model, j).map((item) => ({ ...item, x: R.against(alone(model, j, item.value), target) }));
  return (width) => {
    const x = R.scale(domain, [14, width - 14]);
    const xs = found.map((item) => x(Math.max(domain[0], Math.min(domain[1], item.x))));
    const now = x(limited(domain, R.against(alone(model, j, values[j]), target)));
    const labels = [];
    const order = found.map((item, i) => i).sort((a, b) => xs[a] - xs[b]);
    const take = (i, y, anchor) => {
      if (labels.some((l) => l.i === i)) return;
      const label = R.plain(found[i].short ?? found[i].label, 16);
      const w = label.length * 6.4 + 8;
      const from = anchor === "start" ? xs[i] : anchor === "end" ? xs[i] - w : xs[i] - w / 2;
      if (from < 0 || from + w > width || labels.some((l) => l.y === y && from < l.to && l.from < from + w)) return;
      labels.push({ i, y, from, to: from + w, x: xs[i], label, anchor });
    };
    if (order.length) {
      const first = order[0];
      const last = order[order.length - 1];
      take(first, 12, xs[first] < 50 ? "start" : "middle");
      take(last, 12, xs[last] > width - 50 ? "end" : "middle");
      order.forEach((i, place) => take(i, place % 2 ? 48 : 12, xs[i] < 40 ? "start" : xs[i] > width - 40 ? "end" : "middle"));
    }
    return R.svg(width, 54,
      s("line", { class: "axis", x1: x(domain[0]), x2: x(domain[1]), y1: 29, y2: 29 }),
      s("line", { class: "grid", x1: x(0), x2: x(0), y1: 18, y2: 40 }),
      xs.length > 1 && s("line", { x1: Math.min(...xs), x2: Math.max(...xs), y1: 29, y2: 29, class: "reach" }),
      found.map((item, i) => s("line", { x1: xs[i], x2: xs[i], y1: 24, y2: 34, class: "mark" }, s("title", {}, `${item.label}: ${R.signed(item.x)}`))),
      labels.map((l) => s("text", { x: l.x, y: l.y, "text-anchor": l.anchor, class: "small" }, l.label)),
      s("circle", { cx: now, cy: 29, r: 7, class: "now" }));
  };
};

// `odds` says that totals are log-odds of the class, which alone give its probability.
R.totals = (model, target, result, odds = false) => {
  const total = (odds ? R.odds : R.lead)(result.scores, target);
  const p = result.proba[target];
  return (width) => {
    const reach = Math.max(6, Math.ceil(Math.abs(total) + 1));
    const x = R.scale([-reach, reach], [20, width - 20]);
    const two = odds || model.nClasses === 2;
    const marks = [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];
    const at = (v) => (odds ? 1 / (1 + Math.exp(-v)) : model.probabilities(target === 1 ? [0, v] : [v, 0])[target]);
    const places = two ? marks.map((mark) => {
      let low = -reach;
      let high = reach;
      if (at(low) > mark || at(high) < mark) return null;
      for (let i = 0; i < 50; i++) { const m = (low + high) / 2; if (at(m) < mark) low = m; else high = m; }
      return { mark, x: x((low + high) / 2) };
    }).filter(Boolean) : [];
    let last = -100;
    const shown = places.filter((place) => { const ok = place.x - last > 34; if (ok) last = place.x; return ok; });
    return R.svg(width, two ? 92 : 56,
      s("line", { class: "axis", x1: x(-reach), x2: x(reach), y1: 26, y2: 26 }),
      R.ticks([-reach, reach], Math.max(3, Math.floor(width / 90))).map((v) => s("g", {}, s("line", { class: "tick", x1: x(v), x2: x(v), y1: 26, y2: 31 }), s("text", { x: x(v), y: 45, "text-anchor": "middle", class: "small" }, R.few(v)))),
      two && s("line", { class: "axis", x1: x(-reach), x2: x(reach), y1: 66, y2: 66 }),
      shown.map((place) => s("g", {}, s("line", { class: "tick", x1: place.x, x2: place.x, y1: 66, y2: 71 }), s("text", { x: place.x, y: 85, "text-anchor": "middle", class: "small" }, R.tick(place.mark)))),
      two && s("line", { x1: x(total), x2: x(total), y1: 26, y2: 66, class: "drop" }),
      s("circle", { cx: x(total), cy: 26, r: 7, class: "now" }),
      s("text", { x: Math.min(Math.max(x(total), 60), width - 60), y: 13, "text-anchor": "middle", class: "value" }, `${R.signed(total)} → ${R.percent(p)}`));
  };
};

R.nomogram = (body) => {
  const { model } = R;
  if (data.unit === "document") { R.textNomogram(body); return; }
  if (!model) { body.append(h("p", { class: "note" }, t(`noForm_${data.noForm}`))); return; }
  let target = R.target();
  const order = data.columns.filter((c) => c.used && model.place.has(c.name)).map((c) => model.place.get(c.name))
    .filter((j) => model.terms.some((term) => term.columns.includes(j)) && options(model, j).length);
  const shown = order.slice(0, ROWS);
  const place = h("div", { class: "nomogram" });
  const total = h("div", { class: "total card" });
  const pairs = h("div", {});
  let figures = [];
  let whole = null;
  const domain = () => {
    // values that few rows have may lie beyond the ends
    const all = shown.flatMap((j) => options(model, j).filter((item) => item.share > 0.004)
      .map((item) => R.against(alone(model, j, item.value), target)));
    const low = Math.max(-8, Math.min(0, ...all));
    const high = Math.min(8, Math.max(0, ...all));
    return [low - 0.05 * (high - low), high === low ? low + 1 : high + 0.05 * (high - low)];
  };
  const change = (j, value) => {
    const values = R.state.values.slice();
    values[j] = value;
    R.choose(values, null);
  };
  const controls = shown.map((j) => control(model, j, (value) => change(j, value)));
  let limits = null;
  const clamp = (d) => (v) => Math.max(d[0], Math.min(d[1], v));
  const build = () => {
    limits = domain();
    figures = shown.map((j) => R.figure({
      alt: () => t("stripAlt", { column: R.plain(model.columns[j].name), value: R.state.values[j] === null ? t("missing") : R.plain(model.text(model.columns[j], R.state.values[j])), nats: R.signed(R.against(alone(model, j, R.state.values[j]), target)), name: R.className(target) }),
      height: 54,
      draw: (width) => strip(model, j, target, limits, R.state.values)(width),
    }));
    place.replaceChildren(...shown.map((j, i) => {
      const says = h("output", { class: "n says" });
      figures[i].says = says;
      return h("div", { class: "line" },
        h("div", { class: "what" }, h("span", { class: "name" }, R.label(model.columns[j].name)), controls[i].element, says), figures[i]);
    }));
    whole = R.figure({ alt: said, height: model.nClasses === 2 ? 92 : 56, draw: (width) => R.totals(model, target, R.now)(width) });
    total.replaceChildren(h("div", { class: "totals" }, h("div", {}, h("h3", {}, t("total")), whole), h("div", { class: "answer" })));
  };
  const said = () => t("totalAlt", { name: R.className(target), p: R.percent(R.now.proba[target]), total: R.signed(R.lead(R.now.scores, target)) });
  const update = () => {
    const values = R.state.values;
    R.now = model.predict(values);
    shown.forEach((j, i) => {
      const x = R.against(alone(model, j, values[j]), target);
      controls[i].show(values[j]);
      figures[i].says.textContent = R.signed(clamp([-50, 50])(x));
      figures[i].repaint();
    });
    whole.repaint();
    total.querySelector(".answer").replaceChildren(R.probabilities(R.now.proba));
    pairs.replaceChildren(...pairLines());
    R.say(said());
  };
  const pairLines = () => {
    const found = model.terms.map((term, i) => [term, R.against(R.now.contributions[i], target)])
      .filter(([term]) => term.columns.length > 1)
      .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    if (!found.length) return [];
    const sum = found.reduce((a, [, v]) => a + v, 0);
    return [R.later(t("pairsAdd", { n: found.length, sum: R.signed(sum) }), () => R.table(t("pairs"), [t("pair"), t("nats")],
      found.map(([term, v]) => [R.label(term.columns.map((j) => model.columns[j].name).join(" × ")), R.signed(v, 3)]), [1]))];
  };
  body.append(
    h("p", {}, t("nomogramIntro")),
    h("div", { class: "tools" },
      data.classes.length > 2 && R.classChoice(t("pointsFor"), target, (k) => { target = k; build(); update(); }),
      h("button", { type: "button", onclick: () => R.choose(R.usual(model), null) }, t("reset"))),
    data.classes.length === 2 && h("p", { class: "muted small" }, t("twoClasses", { name: R.className(1), other: R.className(0) })),
    total, place, pairs,
    order.length > shown.length && h("p", { class: "muted small" }, t("moreColumns", { n: order.length - shown.length })),
    h("div", { id: "changes" }));
  R.state.values = R.usual(model);
  build();
  update();
  R.state.listeners.push(update);
  R.changes(body.querySelector("#changes"), shown, options);
};
