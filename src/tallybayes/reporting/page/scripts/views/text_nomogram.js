// The nomogram of texts: how often a word occurs, and what that makes of the probability.

const { h, s, t, data } = R;

const OWN = 16; // terms of the text that have a line
const OTHERS = 8; // other terms that speak most for the class
const COUNTS = [0, 1, 2, 3, 5, 10];

R.bag = { text: "", counts: new Map(), listeners: [] };
R.chooseText = (text, from) => {
  R.bag.text = text;
  R.chooseCounts(R.textModel.counts(text), from);
};
R.chooseCounts = (counts, from) => {
  R.bag.counts = counts;
  for (const listener of R.bag.listeners) if (listener !== from) listener();
};

const withCount = (counts, term, n) => {
  const found = new Map(counts);
  if (n > 0) found.set(term, n);
  else found.delete(term);
  return found;
};

// How the total changes when a term occurs n times beside the others.
const pointsOf = (model, counts, target, term) => {
  const total = (n) => R.odds(model.predict(withCount(counts, term, n)).scores, target);
  const none = total(0);
  return (n) => total(n) - none;
};

const lineChart = (marks, now, domain) => (width) => {
  const x = R.scale(domain, [16, width - 16]);
  const at = (v) => x(Math.max(domain[0], Math.min(domain[1], v)));
  let free = -100;
  return R.svg(width, 44,
    s("line", { class: "axis", x1: x(domain[0]), x2: x(domain[1]), y1: 26, y2: 26 }),
    s("line", { class: "grid", x1: x(0), x2: x(0), y1: 15, y2: 37 }),
    [...marks].sort((a, b) => a[1] - b[1]).map(([n, v]) => {
      const place = at(v);
      const shown = place - free > 15;
      if (shown) free = place;
      return s("g", {}, s("line", { class: "mark", x1: place, x2: place, y1: 21, y2: 31 }, s("title", {}, `${n}: ${R.signed(v)}`)),
        shown && s("text", { x: place, y: 13, "text-anchor": "middle", class: "small" }, String(n)));
    }),
    s("circle", { class: "now", cx: at(now), cy: 26, r: 6.5 }));
};

// Terms with a line: those of the text that speak most, then those that speak most for the class.
const lined = (model, target) => {
  const { contributions } = model.predict(R.bag.counts);
  const own = contributions.map(([term, said]) => [term, Math.abs(R.against(said, target))])
    .sort((a, b) => b[1] - a[1]).slice(0, OWN).map(([term]) => term);
  const name = data.classes[target];
  const others = (data.columns[0]?.terms ?? []).filter(([label]) => label === name)
    .map(([, term]) => model.place.get(term)).filter((term) => term !== undefined && !own.includes(term)).slice(0, OTHERS);
  return [...own, ...others];
};

R.textNomogram = (body) => {
  const model = R.textModel;
  if (!model) { body.append(h("p", { class: "note" }, t(`noForm_${data.noForm}`))); return; }
  const typical = data.rows.filter((row) => row.kind === "typical");
  const first = typical.sort((a, b) => a.values[0][1].length - b.values[0][1].length)[0]; // the shortest
  let target = data.drawnClasses.includes(first?.own) ? first.own : R.target();
  const place = h("div", { class: "nomogram" });
  const total = h("div", { class: "total card" });
  const changes = h("div", {});
  let shown = [];
  const draw = () => {
    const { counts } = R.bag;
    R.now = model.predict(counts);
    const points = shown.map((term) => pointsOf(model, counts, target, term));
    const marks = points.map((of) => COUNTS.map((n) => [n, of(n)]));
    const all = marks.flat().map(([, v]) => v).filter(Number.isFinite);
    const low = Math.max(-8, Math.min(-0.1, ...all));
    const high = Math.min(8, Math.max(0.1, ...all));
    place.replaceChildren(...shown.map((term, i) => {
      const n = counts.get(term) ?? 0;
      const now = points[i](n);
      const name = R.plain(model.names[term], 60);
      const input = h("input", { type: "number", min: "0", step: "1", "aria-label": t("occurrencesOf", { name }), onchange: () => {
        R.chooseCounts(withCount(R.bag.counts, term, Math.max(0, Math.round(Number(input.value) || 0))), null);
      } });
      input.value = n;
      return h("div", { class: "line term" }, h("div", { class: "what" }, h("span", { class: "name" }, R.label(model.names[term])), h("span", { class: "control" }, input), h("output", { class: "n says" }, R.signed(now))),
        R.figure({ alt: t("termStripAlt", { name, n, nats: R.signed(now), label: R.className(target) }), height: 44, draw: lineChart(marks[i], now, [low, high]) }));
    }));
    const said = t("totalAlt", { name: R.className(target), p: R.percent(R.now.proba[target]), total: R.signed(R.odds(R.now.scores, target)) });
    total.replaceChildren(h("div", { class: "totals" }, h("div", {}, h("h3", {}, t("total")), R.figure({ alt: said, height: 92, draw: (width) => R.totals(model, target, R.now, true)(width) })), h("div", { class: "answer" }, R.probabilities(R.now.proba))));
    R.textChanges(changes);
    R.paint();
    R.say(said);
  };
  const update = () => {
    const keep = shown.filter((term) => place.contains(document.activeElement) && !R.bag.counts.has(term));
    shown = [...new Set([...lined(model, target), ...keep])];
    draw();
  };
  body.append(h("p", {}, t("textNomogramIntro")), R.cutNote(),
    h("div", { class: "tools" }, data.classes.length > 2 && R.classChoice(t("pointsFor"), target, (k) => { target = k; update(); }),
      h("button", { type: "button", onclick: () => R.chooseCounts(new Map(), null) }, t("noWords")),
      h("button", { type: "button", onclick: () => R.chooseText(R.bag.text, null) }, t("wordsOfText"))),
    data.classes.length === 2 && h("p", { class: "muted small" }, t("twoClasses", { name: R.className(1), other: R.className(0) })),
    total, place, h("h3", {}, t("changesTitle")), h("p", { class: "muted small" }, t("textChangesIntro")), changes);
  R.bag.listeners.push(update);
  R.chooseText(first?.values[0][1] ?? "", null);
};

// What of the model the page has; nothing where it is all.
R.cutNote = () => {
  const cut = data.textCut;
  if (!cut) return null;
  return h("p", { class: "note" }, t("textCut", { terms: R.whole(cut.terms), all: R.whole(data.textForm.all), documents: R.whole(cut.documents), same: R.percent(cut.same), mean: R.percent(cut.mean), largest: R.percent(cut.largest) }));
};
