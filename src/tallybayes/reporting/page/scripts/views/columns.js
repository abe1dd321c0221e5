// Each column: what was understood and why, values by class, what each value adds.

const { h, s, t, data } = R;

const STEP = 60; // columns that are listed at once

const stacked = (column, target) => (width) => {
  const bins = column.bins;
  const numeric = bins.filter((bin) => !bin.missing && bin.number).length > 1 && bins.every((bin) => bin.number || bin.missing);
  return numeric ? histogram(column, target, width) : levels(column, target, width);
};

const others = (bin) => Math.max(0, bin.rows - bin.counts.reduce((a, b) => a + b, 0));

const pieces = (bin) => [...data.drawnClasses.map((k, i) => [bin.counts[i], R.color(k)]), [others(bin), "var(--line)"]];

const name = (column, bin) => {
  if (bin.missing) return t("missing");
  if (bin.label === "" && column.hiddenLevels && bin === column.bins.filter((b) => !b.missing && !b.number).at(-1)) return t("otherLevels", { n: column.hiddenLevels });
  return R.plain(bin.label);
};

const histogram = (column, target, width) => {
  const bins = column.bins;
  const place = data.drawnClasses.indexOf(target);
  const left = 46;
  const gap = 3;
  const w = (width - left - 10) / bins.length;
  const most = Math.max(...bins.map((bin) => bin.rows));
  const high = 96;
  const y = R.scale([0, most], [high + 16, 16]);
  const nats = column.nats?.map((row) => row[place]);
  const data1 = nats && [...nats, ...bins.map((bin) => raw(column, bin, place))].filter(Number.isFinite);
  const limit = nats ? Math.max(0.5, ...data1.map(Math.abs).map((v) => Math.min(v, 6))) : 1;
  const z = R.scale([-limit, limit], [high + 182, high + 70]);
  const x = (i) => left + i * w;
  const every = Math.ceil(62 / w);
  const label = (bin) => (bin.missing ? t("missingShort") : column.dates ? R.dateText(bin.low).slice(0, 10) : R.few(bin.low));
  return R.svg(width, nats ? high + 196 : high + 46,
    s("text", { x: 0, y: 10, class: "label" }, t(`unit_${data.unit}s`)),
    R.ticks([0, most], 3).map((v) => s("g", {}, s("line", { class: "grid", x1: left, x2: width - 10, y1: y(v), y2: y(v) }), s("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, R.few(v)))),
    bins.map((bin, i) => {
      let base = 0;
      return pieces(bin).filter(([rows]) => rows > 0).map(([rows, color]) => {
        const rect = s("rect", { x: x(i) + gap / 2, y: y(base + rows), width: Math.max(1, w - gap), height: Math.max(0, y(base) - y(base + rows)), fill: color }, s("title", {}, `${name(column, bin)}: ${R.count(bin.rows)}`));
        base += rows;
        return rect;
      });
    }),
    bins.map((bin, i) => (i % every === 0 || bin.missing) && !(bins.at(-1).missing && i < bins.length - 1 && bins.length - 1 - i < every && i % every === 0 && w < 60) && s("text", { x: x(i) + (bin.low === bin.high || bin.missing ? w / 2 : 0), y: high + 32, "text-anchor": "middle", class: "small" }, label(bin))),
    nats && s("g", {},
      s("text", { x: 0, y: high + 56, class: "label" }, t("addsFor", { name: R.className(target, 24) })),
      R.ticks([-limit, limit], 4).map((v) => s("g", {}, s("line", { class: v === 0 ? "axis" : "grid", x1: left, x2: width - 10, y1: z(v), y2: z(v) }), s("text", { x: left - 6, y: z(v) + 4, "text-anchor": "end" }, R.few(v)))),
      bins.map((bin, i) => { const v = raw(column, bin, place); return Number.isFinite(v) && s("circle", { cx: x(i) + w / 2, cy: z(Math.max(-limit, Math.min(limit, v))), r: 2 + 4 * Math.sqrt(bin.rows / most), class: "raw" }, s("title", {}, t("rawDot", { nats: R.signed(v), rows: R.count(bin.rows) }))); }),
      s("path", { d: steps(bins, nats, x, w, (v) => z(Math.max(-limit, Math.min(limit, v)))), class: "curve" })));
};

const steps = (bins, nats, x, w, z) => bins.map((bin, i) => `M${x(i).toFixed(1)},${z(nats[i]).toFixed(1)}H${(x(i) + w).toFixed(1)}${!bin.missing && bins[i + 1] && !bins[i + 1].missing ? `V${z(nats[i + 1]).toFixed(1)}` : ""}`).join("");

// What the counts alone say: the log of the bin's odds of the class over the odds in all rows.
const raw = (column, bin, place) => {
  const mine = bin.counts[place];
  const rest = bin.rows - mine;
  const all = column.bins.reduce((a, b) => a + b.rows, 0);
  const ours = column.bins.reduce((a, b) => a + b.counts[place], 0);
  if (mine <= 0 || rest <= 0 || ours <= 0 || all - ours <= 0) return NaN;
  return Math.log(mine / rest) - Math.log(ours / (all - ours));
};

const levels = (column, target, width) => {
  const place = data.drawnClasses.indexOf(target);
  const bins = column.bins;
  const line = 24;
  const nats = column.nats?.map((row) => row[place]);
  const names = Math.min(190, width * 0.3);
  const middle = nats ? names + (width - names) * 0.46 : width - 56;
  const most = Math.max(...bins.map((bin) => bin.rows));
  const x = R.scale([0, most], [names + 8, middle - 54]);
  const limit = nats ? Math.max(0.5, ...nats.map(Math.abs).map((v) => Math.min(v, 6))) : 1;
  const z = R.scale([-limit, limit], [middle + 10, width - 58]);
  return R.svg(width, bins.length * line + 30,
    s("text", { x: names + 8, y: 12, class: "label" }, t(`unit_${data.unit}s`)),
    nats && s("text", { x: z(0), y: 12, "text-anchor": "middle", class: "label" }, width < 560 ? t("nats") : t("addsFor", { name: R.className(target, 20) })),
    nats && s("line", { class: "axis", x1: z(0), x2: z(0), y1: 20, y2: bins.length * line + 22 }),
    bins.map((bin, i) => {
      const y = 20 + i * line;
      let base = 0;
      const shown = name(column, bin);
      const v = nats?.[i];
      const end = nats && z(Math.max(-limit, Math.min(limit, v)));
      const dot = nats ? raw(column, bin, place) : NaN;
      return s("g", {},
        s("text", { x: names, y: y + 16, "text-anchor": "end", class: bin.missing ? "odd" : null }, R.plain(shown, Math.floor(names / 7)), s("title", {}, shown)),
        pieces(bin).filter(([rows]) => rows > 0).map(([rows, color]) => { const rect = s("rect", { x: x(base), y: y + 4, width: Math.max(0.5, x(base + rows) - x(base)), height: line - 8, fill: color }); base += rows; return rect; }),
        s("text", { x: x(bin.rows) + 4, y: y + 16, class: "small" }, R.count(bin.rows)),
        nats && s("rect", { x: Math.min(z(0), end), y: y + 5, width: Math.max(1, Math.abs(end - z(0))), height: line - 10, rx: 2, fill: v >= 0 ? R.color(target) : R.opposed(target) }),
        nats && s("text", { x: width - 4, y: y + 16, "text-anchor": "end", class: "small" }, R.signed(v)),
        Number.isFinite(dot) && s("circle", { cx: z(Math.max(-limit, Math.min(limit, dot))), cy: y + line / 2, r: 3, class: "raw" }, s("title", {}, t("rawDot", { nats: R.signed(dot), rows: R.count(bin.rows) }))));
    }));
};

const terms = (column) => {
  const labels = [...new Set(column.terms.map((item) => item[0]))];
  return h("div", { class: "grid3" }, labels.map((label) => {
    const of = column.terms.filter((item) => item[0] === label);
    const most = Math.max(...column.terms.map((item) => Math.abs(item[2] ?? 0)));
    const k = data.classes.indexOf(label);
    return h("div", {}, h(data.unit === "document" ? "h3" : "h4", {}, R.swatch(k), R.label(label)), R.figure({
      alt: t("termsAlt", { name: R.plain(label), terms: of.slice(0, 4).map((item) => R.plain(item[1])).join(", ") }),
      height: of.length * 24 + 8,
      draw: (width) => R.diverging(width, of.map((item) => [item[1], item[2] ?? 0, R.color(k), R.signed(item[2] ?? 0)]), { domain: [0, most] }),
      table: () => R.table(R.plain(label), [t("term"), t("nats")], of.map((item) => [R.label(item[1]), R.signed(item[2] ?? 0, 3)]), [1]),
    }));
  }));
};

const detail = (column) => {
  let target = R.target();
  const holder = h("div", {});
  const build = () => {
    const place = data.drawnClasses.indexOf(target);
    holder.replaceChildren(R.figure({
      alt: t("columnAlt", { name: R.plain(column.name), n: column.bins.length }),
      height: 200,
      note: column.nats ? t("columnNote") : null,
      draw: stacked(column, target),
      table: () => R.table(t("valuesOf", { name: R.plain(column.name) }),
        [t("value"), t(`unit_${data.unit}s`), ...data.drawnClasses.map((k) => R.label(data.classes[k])), ...(column.nats ? [t("addsFor", { name: R.className(target) })] : [])],
        column.bins.map((bin, i) => [name(column, bin), R.count(bin.rows), ...bin.counts.map(R.count), ...(column.nats ? [R.signed(column.nats[i][place], 3)] : [])]),
        [...data.drawnClasses.map((k, i) => i + 2), 1, data.drawnClasses.length + 2]),
    }));
  };
  const tools = data.classes.length > 2 && column.bins ? h("div", { class: "tools" }, R.classChoice(t("showClass"), target, (k) => { target = k; build(); R.paint(); })) : null;
  if (column.bins) build();
  return h("div", { class: "detail" },
    h("p", { class: "muted small" }, `${column.holds} · ${column.family} — `, R.label(column.why)),
    tools, holder, column.terms && terms(column), !column.bins && !column.terms && h("p", { class: "muted" }, t("notDrawn")));
};

const legend = () => h("ul", { class: "legend" }, data.drawnClasses.map((k) => h("li", {}, R.swatch(k), R.label(data.classes[k]))),
  h("li", { class: "muted" }, "● ", t("rawLegend")));

const heat = (term) => {
  const { model } = R;
  const target = R.target();
  const rows = term.sizes[0];
  const columns = term.table.length / (rows * model.nClasses);
  const [down, ...others] = term.labels; // of three columns the last two share the second axis
  const across = others.reduce((before, words) => before.flatMap((one) => words.map((word) => `${one} × ${word}`)));
  const value = (i, j) => R.against(Array.from({ length: model.nClasses }, (_, c) => term.table[(i * columns + j) * model.nClasses + c]), target);
  const all = Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => value(i, j)));
  const limit = Math.max(...all.flat().map(Math.abs)) || 1;
  const [first, ...rest] = term.columns.map((j) => model.columns[j].name);
  const names = [first, rest.join(" × ")];
  const draw = (width) => {
    const left = Math.min(150, width * 0.3);
    const cell = Math.max(8, Math.min(34, (width - left - 10) / columns));
    const height = Math.max(14, Math.min(24, cell));
    const top = 16;
    return R.svg(width, top + rows * height + 86,
      all.map((line, i) => s("g", {},
        s("text", { x: left - 6, y: top + i * height + height / 2 + 4, "text-anchor": "end", class: "small" }, R.plain(down[i], Math.floor(left / 6.5))),
        line.map((v, j) => s("rect", { x: left + j * cell, y: top + i * height, width: cell - 1, height: height - 1, fill: v >= 0 ? R.color(target) : R.opposed(target), "fill-opacity": Math.abs(v) / limit }, s("title", {}, `${R.plain(down[i])} × ${R.plain(across[j])}: ${R.signed(v)}`))))),
      Array.from({ length: columns }, (_, j) => {
        const x = left + j * cell + cell / 2;
        const y = top + rows * height + 10;
        return (cell > 13 || j % 2 === 0) && s("text", { x, y, "text-anchor": "end", class: "small", transform: `rotate(-40 ${x} ${y})` }, R.plain(across[j], 14));
      }));
  };
  return R.figure({
    alt: t("heatAlt", { first: R.plain(names[0]), second: R.plain(names[1]), limit: R.fixed(limit), name: R.className(target) }),
    note: t("heatNote", { name: R.className(target, 24), first: R.plain(names[0]), second: R.plain(names[1]), limit: R.fixed(limit) }),
    height: 200,
    draw,
    table: () => R.table(`${R.plain(names[0])} × ${R.plain(names[1])}`, [R.label(names[0]), ...across.map((word) => R.label(word))],
      all.map((line, i) => [R.label(down[i]), ...line.map((v) => R.signed(v))]), across.map((_, j) => j + 1)),
  });
};

const pairs = () => {
  const found = (R.model?.terms ?? []).filter((term) => term.kind === "joint");
  if (!found.length) return null;
  const names = (term) => term.columns.map((j) => R.model.columns[j].name);
  const of = new Map(data.terms);
  const adds = (term) => of.get(names(term).join(" × ")) ?? 0;
  return h("div", {}, h("h3", {}, t("pairs")), h("p", { class: "muted small" }, t("pairsIntro")),
    found.sort((a, b) => adds(b) - adds(a)).map((term) => R.later([...names(term).flatMap((name, i) => (i ? [" × ", R.label(name)] : [R.label(name)])), h("span", { class: "muted small" }, ` ${t("natsShort", { nats: R.fixed(adds(term)) })}`)], () => heat(term), { class: "row" })));
};

R.columns = (body) => {
  const most = Math.max(...data.columns.map((c) => c.importance), 1e-9);
  const list = h("div", { class: "list" });
  const status = h("p", { class: "muted small", "aria-live": "polite" });
  const search = h("input", { type: "search", "aria-label": t("search"), placeholder: t("search"), oninput: () => render(STEP) });
  const sort = h("select", { "aria-label": t("sort"), onchange: () => render(STEP) },
    ["importance", "name", "missing", "order"].filter((key) => key !== "order").map((key) => h("option", { value: key }, t(`sort_${key}`))));
  const kept = new Map();
  const entry = (column) => {
    if (kept.has(column)) return kept.get(column);
    const bar = h("span", { class: "bar" });
    bar.style.setProperty("width", `${(100 * column.importance) / most}%`);
    const made = R.later([h("span", { class: "who" }, R.label(column.name)), h("span", { class: "muted small kind" }, [column.used ? column.family : t("leftOut"), column.missing > 0 && ` · ${t("missingShare", { share: R.percent(column.missing) })}`]),
      h("span", { class: "rail", "aria-hidden": "true" }, bar), h("span", { class: "n small" }, t("natsShort", { nats: R.fixed(column.importance) }))], () => detail(column), { class: "row column" });
    kept.set(column, made);
    return made;
  };
  const render = (limit) => {
    const wanted = search.value.trim().toLowerCase();
    const found = data.columns.filter((c) => c.name.toLowerCase().includes(wanted));
    const by = { importance: (a, b) => b.importance - a.importance, name: (a, b) => a.name.localeCompare(b.name, R.lang), missing: (a, b) => b.missing - a.missing };
    found.sort(by[sort.value] ?? by.importance);
    list.replaceChildren(...found.slice(0, limit).map(entry),
      ...(found.length > limit ? [h("button", { type: "button", onclick: () => render(limit + 200) }, t("showMore", { n: R.whole(found.length - limit) }))] : []));
    status.textContent = t("columnsShown", { shown: R.whole(Math.min(limit, found.length)), all: R.whole(data.columns.length) });
    R.paint();
  };
  if (data.unit === "document") { body.append(h("p", {}, t("termsIntro")), terms(data.columns[0])); return; }
  body.append(h("p", {}, t("columnsIntro")), legend(), h("div", { class: "tools" }, search, sort), status, list);
  render(STEP);
  const first = kept.get(data.columns[0]);
  if (first) requestAnimationFrame(() => { first.open = true; });
  const found = pairs();
  if (found) body.append(found);
};
