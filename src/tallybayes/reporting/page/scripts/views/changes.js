// What would change this decision: the smallest changes of one or two values.

const { h, s, t, data } = R;

const SHOWN = 6;
const TRIED = 120; // single changes that are combined in twos

// How far a value is from another, as the share of the column's rows between them; of levels 1.
const distance = (column, from, to) => {
  if (typeof from !== "number" || typeof to !== "number") return 1;
  const bins = (R.facts.get(column.name)?.bins ?? []).filter((bin) => bin.number);
  const total = bins.reduce((a, bin) => a + bin.rows, 0) || 1;
  const [low, high] = from < to ? [from, to] : [to, from];
  return Math.min(1, bins.filter((bin) => bin.high > low && bin.low < high).reduce((a, bin) => a + bin.rows, 0) / total + 0.01);
};

R.smallestChanges = (model, values, places, options) => {
  const before = model.predict(values).proba;
  const best = R.ordered(before)[0];
  const single = [];
  for (const j of places) {
    for (const item of options(model, j)) {
      if (item.value === values[j] || item.value === null) continue;
      const changed = values.slice();
      changed[j] = item.value;
      const { proba } = model.predict(changed);
      const to = R.ordered(proba)[0];
      single.push({ changes: [{ j, item }], to, p: proba[to], cost: distance(model.columns[j], values[j], item.value), drop: before[best] - proba[best] });
    }
  }
  const one = single.filter((c) => c.to !== best).sort((a, b) => a.cost - b.cost || b.p - a.p);
  const flips = new Set(one.map((c) => `${c.changes[0].j}`));
  const firsts = single.filter((c) => c.to === best && c.drop > 0).sort((a, b) => b.drop / b.cost - a.drop / a.cost).slice(0, TRIED);
  const two = [];
  for (let a = 0; a < firsts.length; a++) {
    for (let b = a + 1; b < firsts.length; b++) {
      const [x] = firsts[a].changes;
      const [y] = firsts[b].changes;
      if (x.j === y.j) continue;
      const changed = values.slice();
      changed[x.j] = x.item.value;
      changed[y.j] = y.item.value;
      const { proba } = model.predict(changed);
      const to = R.ordered(proba)[0];
      if (to !== best) two.push({ changes: [x, y], to, p: proba[to], cost: firsts[a].cost + firsts[b].cost });
    }
  }
  two.sort((a, b) => a.cost - b.cost || b.p - a.p);
  const kept = [];
  const seen = new Map();
  for (const c of [...one, ...two]) { // of one column, or pair of columns, the smallest change
    const key = c.changes.map((change) => change.j).sort().join(",");
    if (seen.get(key)) continue;
    seen.set(key, true);
    kept.push(c);
  }
  return { best, one: kept.filter((c) => c.changes.length === 1).slice(0, SHOWN), two: kept.filter((c) => c.changes.length === 2).slice(0, SHOWN) };
};

R.changes = (element, places, options) => {
  const { model } = R;
  const list = h("div", {});
  const shown = places.slice(0, 20);
  let waiting = 0;
  const item = (found) => h("li", {}, found.changes.map(({ j, item }, i) => [i ? h("span", { class: "muted" }, ` ${t("and")} `) : null,
    h("strong", {}, R.label(model.columns[j].name)), " ", R.label(R.state.values[j] === null ? null : model.text(model.columns[j], R.state.values[j])), " → ", h("b", {}, R.label(item.label))]),
  ": ", R.swatch(found.to), R.label(data.classes[found.to]), ` ${R.percent(found.p)}`, " ",
  h("button", { type: "button", class: "small", onclick: () => {
    const values = R.state.values.slice();
    for (const { j, item } of found.changes) values[j] = item.value;
    R.choose(values, null);
  } }, t("try")));
  const update = () => {
    const { best, one, two } = R.smallestChanges(model, R.state.values, shown, options);
    R.fill(list,
      h("p", {}, t("changesNow"), " ", R.swatch(best), h("strong", {}, R.label(data.classes[best]))),
      one.length ? h("ul", { class: "changes" }, one.map(item)) : h("p", { class: "muted" }, t("noSingle")),
      two.length ? [h("p", { class: "muted small" }, t("inTwos")), h("ul", { class: "changes" }, two.map(item))] : null);
  };
  const later = () => { clearTimeout(waiting); waiting = setTimeout(update, 60); };
  element.append(h("h3", {}, t("changesTitle")), h("p", { class: "muted small" }, t("changesIntro")), list);
  update();
  R.state.listeners.push(later);
};
