// At a glance: how good, on which rows, beside what; classes, columns, findings.

const { h, s, t, data } = R;

// A value with its interval beside a baseline, on a line from 0 to `most`.
const gauge = (width, [value, low, high], baseline, most, format) => {
  const x = R.scale([0, most], [4, width - 4]);
  return R.svg(width, 40,
    s("rect", { x: 4, y: 12, width: width - 8, height: 8, rx: 4, class: "track" }),
    s("rect", { x: 4, y: 12, width: Math.max(2, x(Math.min(value, most)) - 4), height: 8, rx: 4, class: "fill" }),
    s("line", { x1: x(Math.max(low, 0)), x2: x(Math.min(high, most)), y1: 16, y2: 16, class: "interval" }),
    baseline !== null && s("line", { x1: x(baseline), x2: x(baseline), y1: 6, y2: 26, class: "baseline" }),
    baseline !== null && s("text", { x: Math.min(Math.max(x(baseline), 24), width - 24), y: 38, "text-anchor": "middle", class: "small" }, format(baseline)));
};

const tile = (name, value, detail, alt, draw) => h("div", { class: "tile" },
  h("div", { class: "name" }, name), h("div", { class: "big" }, value),
  draw && R.figure({ alt, draw, height: 40 }), h("div", { class: "muted small" }, detail));

const interval = ([, low, high], format) => `${format(low)} – ${format(high)}`;

const measured = () => {
  const { headline, rowsGiven, rowsRead } = data;
  const rows = R.count(headline.rows);
  const parts = [t(`by_${headline.by}_${data.unit}`, { rows })];
  if (rowsRead < rowsGiven) parts.push(t("sampled", { read: R.whole(rowsRead), given: R.whole(rowsGiven) }));
  return parts.join(" ");
};

const classBar = () => {
  const total = data.classRows.reduce((a, b) => a + b, 0);
  const order = data.drawnClasses;
  const shown = order.reduce((a, k) => a + data.classRows[k], 0);
  const rest = total - shown;
  const draw = (width) => {
    let x = 0;
    const piece = (rows, color, label) => {
      const w = (rows / total) * width;
      const rect = s("rect", { x, y: 0, width: Math.max(0, w - 1), height: 22, fill: color }, s("title", {}, label));
      x += w;
      return rect;
    };
    return R.svg(width, 22,
      order.map((k) => piece(data.classRows[k], R.color(k), `${R.className(k)}: ${R.percent(data.classRows[k] / total)}`)),
      rest > 1e-9 && piece(rest, "var(--line)", t("otherClasses", { n: data.classes.length - order.length })));
  };
  const rows = order.map((k) => [R.label(data.classes[k]), R.count(data.classRows[k]), R.percent(data.classRows[k] / total)]);
  return h("div", { class: "card" }, h("h3", {}, t("classes", { n: R.whole(data.classes.length) })),
    R.figure({
      alt: t("classesAlt", { n: data.classes.length, largest: R.className(order.reduce((a, b) => (data.classRows[b] > data.classRows[a] ? b : a))) }),
      draw,
      height: 22,
      table: () => R.table(t("classes", { n: data.classes.length }), [t("class"), t(`unit_${data.unit}s`), t("share")], rows, [1, 2]),
    }),
    h("ul", { class: "legend" }, order.map((k) => h("li", {}, R.swatch(k), R.label(data.classes[k]), " ", h("span", { class: "muted" }, R.percent(data.classRows[k] / total)))),
      rest > 1e-9 && h("li", { class: "muted" }, t("otherClasses", { n: data.classes.length - order.length }))));
};

const uses = () => {
  const used = data.columns.filter((c) => c.used);
  const top = data.terms.filter(([, nats]) => nats > 0).slice(0, 8);
  if (data.unit === "document" || !top.length) return null;
  const most = Math.max(...top.map(([, nats]) => nats));
  const text = data.pairs.length ? "usesPairs" : "uses";
  return h("div", { class: "card" }, h("h3", {}, t("usesTitle")),
    h("p", {}, t(text, { used: R.whole(used.length), all: R.whole(data.columns.length), pairs: R.whole(data.pairs.length) })),
    R.figure({
      alt: t("importanceAlt", { columns: top.map(([name]) => R.plain(name)).join(", ") }),
      height: top.length * 24 + 8,
      draw: (width) => R.diverging(width, top.map(([name, nats]) => [name, nats, "var(--accent)", R.fixed(nats)]), { domain: [0, most] }),
      table: () => R.table(t("importance"), [t("term"), t("natsRow")], data.terms.map(([name, nats]) => [R.label(name), R.fixed(nats, 3)]), [1]),
    }));
};

const findingText = (finding) => {
  if (finding.kind === "rare") return t("finding_rare", { about: R.plain(finding.about), rows: R.count(finding.value), unit: t(`unit_${data.unit}s`) });
  const value = typeof finding.value === "number" ? R.percent(finding.value) : R.plain(finding.value, 120);
  if (finding.kind === "copy" && data.model === "WeightedNaiveBayes") return t("finding_copy_weighted", { about: R.plain(finding.about), value: R.plain(finding.value) });
  return t(`finding_${finding.kind}`, { about: R.plain(finding.about), value });
};

const findings = () => {
  const all = data.findings.map((d) => h("li", {}, h("span", { class: `badge ${d.kind}` }, t(`badge_${d.kind}`)), " ", findingText(d)));
  if (!all.length) return h("div", { class: "card good" }, h("h3", {}, t("findings")), h("p", {}, t("noFindings")));
  const shown = all.slice(0, 8);
  const rest = all.slice(8);
  return h("div", { class: "card findings" }, h("h3", {}, t("findings")), h("ul", { class: "plain" }, shown),
    rest.length > 0 && R.later(t("more", { n: rest.length }), () => h("ul", { class: "plain" }, rest)));
};

const decisions = () => {
  const { cost, error, referred, each } = data.decisions;
  const cheapest = each.reduce((a, b) => (b[2] < a[2] ? b : a));
  const rows = each.map(([name, share, always]) => [R.plain(name), R.percent(share), R.few(always)]);
  return h("div", { class: "card decisions" }, h("h3", {}, t("decisionsTitle")),
    h("p", {}, t("decisions", { cost: R.few(cost), always: R.few(cheapest[2]), cheapest: R.plain(cheapest[0]) }), " ",
      referred > 0 && t("decisionsReferred", { referred: R.percent(referred) }), " ",
      error !== null && t("decisionsError", { error: R.percent(error) })),
    R.table(t("decisionsTitle"), [t("decision"), t("share"), t("costAlways")], rows, [1, 2]));
};

R.glance = (body) => {
  const { headline } = data;
  const better = headline.accuracy[0] - headline.largestShare;
  body.append(
    h("p", { class: "lead" }, t(better > 0 ? "leadBetter" : "leadNotBetter", {
      accuracy: R.percent(headline.accuracy[0]), largest: R.percent(headline.largestShare), unit: t(`unit_${data.unit}s`),
    })),
    h("div", { class: "tiles" },
      tile(t("accuracy"), R.percent(headline.accuracy[0]), t("accuracyDetail", { interval: interval(headline.accuracy, R.percent), baseline: R.percent(headline.largestShare) }),
        t("accuracyAlt", { value: R.percent(headline.accuracy[0]), interval: interval(headline.accuracy, R.percent), baseline: R.percent(headline.largestShare) }),
        (width) => gauge(width, headline.accuracy, headline.largestShare, 1, R.percent)),
      tile(t("logLoss"), headline.logLoss[0] === null ? "∞" : R.fixed(headline.logLoss[0], 4),
        t("logLossDetail", { interval: headline.logLoss[0] === null ? "–" : interval(headline.logLoss, (v) => R.fixed(v, 4)), baseline: R.fixed(headline.shareLoss, 4) }),
        t("logLossAlt", { value: R.few(headline.logLoss[0]), baseline: R.fixed(headline.shareLoss, 4) }),
        headline.logLoss[0] === null ? null : (width) => gauge(width, headline.logLoss, headline.shareLoss, Math.max(headline.shareLoss, headline.logLoss[0]) * 1.08 || 1, (v) => R.fixed(v, 3))),
      tile(t("calibrationError"), R.percent(headline.calibrationError), t("calibrationDetail")),
      tile(t(`${data.unit}sCounted`), R.count(data.classRows.reduce((a, b) => a + b, 0)), t("countedDetail"))),
    h("p", { class: "note" }, measured()),
    h("div", { class: "grid2" }, h("div", {}, uses() ?? classBar()), h("div", {}, uses() && classBar(), data.decisions && decisions(), findings())));
};
