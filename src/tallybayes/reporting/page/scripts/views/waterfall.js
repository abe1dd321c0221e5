// The waterfall of one decision: log-odds of one class against another, term by term.

const { h, s, t, data } = R;

// { favour, against, base, steps: [name, value, nats], rest, nRest }
R.waterfall = (row) => {
  const favour = R.className(row.favour, 24);
  const against = R.className(row.against, 24);
  const lines = [[t("start"), "", row.base, true], ...row.steps];
  if (row.nRest) lines.push([t("otherTerms", { n: row.nRest }), "", row.rest, true]);
  const total = lines.reduce((sum, line) => sum + line[2], 0);
  const named = ([name, value, , own]) => {
    if (own) return name;
    const shown = R.plain(name, 60);
    if (data.unit === "document") return value === "" ? shown : `${shown} ${value}`;
    return value === "" && data.unit === "row" ? `${shown} (${t("missing")})` : value === "" ? shown : `${shown} = ${R.plain(value, 60)}`;
  };
  const draw = (width) => {
    const line = 26;
    const narrow = width < 520;
    const labels = narrow ? 6 : Math.min(300, width * 0.38);
    const step = narrow ? 42 : line;
    let sum = 0;
    const ends = lines.map(([, , nats]) => { const from = sum; sum += nats; return [from, sum]; });
    const all = ends.flat().concat(0);
    const pad = 62; // for numbers on either side
    const low = Math.min(...all);
    const high = Math.max(...all);
    const x = R.scale(low === high ? [low - 1, high + 1] : [low, high], [labels + pad, width - pad]);
    const height = (lines.length + 1) * step + 12;
    const at = (i) => i * step + (narrow ? 18 : 4);
    const bar = (from, to, y, label, shown, color) => s("g", {},
      narrow ? s("text", { x: 4, y: y - 4 }, label)
        : s("text", { x: labels - 8, y: y + 15, "text-anchor": "end" }, label.length > labels / 7 ? label.slice(0, Math.floor(labels / 7)) + "…" : label, s("title", {}, label)),
      s("rect", { x: Math.min(x(from), x(to)), y: y + 3, width: Math.max(1.5, Math.abs(x(to) - x(from))), height: line - 9, rx: 2, fill: color }),
      s("text", { x: x(to) + (to >= from ? 4 : -4), y: y + 15, "text-anchor": to >= from ? "start" : "end", class: "value" }, shown));
    return R.svg(width, height,
      s("line", { class: "axis", x1: x(0), x2: x(0), y1: 0, y2: height - 4 }),
      lines.map((item, i) => s("g", {},
        i > 0 && s("line", { class: "grid", x1: x(ends[i][0]), x2: x(ends[i][0]), y1: at(i - 1) + 4, y2: at(i) + line - 6 }),
        bar(ends[i][0], ends[i][1], at(i), named(item), R.signed(item[2]), item[2] >= 0 ? R.color(row.favour) : R.color(row.against)))),
      bar(0, total, at(lines.length), t("sum"), R.signed(total), "var(--text)"));
  };
  const cells = lines.map((item) => [R.label(item[3] ? item[0] : item[0]), item[3] ? "" : item[1] === "" && data.unit === "row" ? t("missing") : R.label(item[1] || " "), R.signed(item[2], 4)]);
  cells.push([t("sum"), "", R.signed(total, 4)]);
  const narrowHeight = (lines.length + 1) * 26 + 12;
  return R.figure({
    title: t("waterfallTitle", { favour, against }),
    alt: t("waterfallAlt", { favour, against, total: R.signed(total), top: row.steps.slice(0, 3).map((item) => `${named(item)} ${R.signed(item[2])}`).join(", ") }),
    height: narrowHeight,
    draw,
    table: () => R.table(t("waterfallTitle", { favour, against }), [t("term"), t("value"), t("nats")], cells, [2]),
  });
};

// Steps of a prediction that the page has computed itself.
R.stepsOf = (model, values, found, favour, against) => {
  const shown = (j) => model.text(model.columns[j], values[j]);
  const steps = model.terms.map((term, i) => {
    const nats = found.contributions[i][favour] - found.contributions[i][against];
    const name = term.columns.map((j) => model.columns[j].name).join(" × ");
    return [name, term.columns.map((j) => shown(j)).join(" × "), Number.isNaN(nats) ? 0 : nats];
  }).filter((step) => step[2] !== 0).sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
  const rest = steps.slice(14);
  return {
    favour, against, base: model.base[favour] - model.base[against], steps: steps.slice(0, 14),
    rest: rest.reduce((sum, step) => sum + step[2], 0), nRest: rest.length,
  };
};

R.ordered = (values) => values.map((v, k) => [v, k]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, k]) => k);

// Bars of the most probable classes.
R.probabilities = (proba, most = 6) => {
  const order = R.ordered(proba).slice(0, most);
  return h("ol", { class: "proba", "aria-label": t("probabilities") }, order.map((k) => {
    const bar = h("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("width", `${Math.max(0.5, 100 * proba[k])}%`);
    bar.style.setProperty("background", R.color(k));
    return h("li", {}, h("span", { class: "who" }, R.label(data.classes[k])), h("span", { class: "rail", "aria-hidden": "true" }, bar), h("span", { class: "n" }, R.percent(proba[k])));
  }));
};
