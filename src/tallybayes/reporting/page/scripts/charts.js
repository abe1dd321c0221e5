// Scales, axes and the few kinds of charts that the page has.

const { s, t } = R;

R.scale = (domain, range) => {
  const [a, b] = domain;
  const [from, to] = range;
  const factor = b === a ? 0 : (to - from) / (b - a);
  const map = (v) => from + (v - a) * factor;
  map.invert = (at) => (factor ? a + (at - from) / factor : a);
  map.domain = domain;
  return map;
};

R.ticks = ([a, b], n = 5) => {
  if (!(b > a)) return [a];
  const rough = (b - a) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((v) => v >= rough);
  const found = [];
  for (let i = Math.ceil(a / step - 1e-9); i * step <= b + 1e-9 * step; i++) found.push(i * step + 0);
  return found;
};

const text = (x, y, content, attributes = {}) => s("text", { x, y, ...attributes }, content);

R.svg = (width, height, ...children) =>
  s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "plot" }, children);

// Axes of a chart with its frame at (left, top), as wide and high as said.
R.axes = ({ x, y, left, top, width, height, xLabel, yLabel, xFormat = R.few, yFormat = R.few, xTicks, yTicks }) => {
  const xs = xTicks ?? R.ticks(x.domain, Math.max(2, Math.floor(width / 80)));
  const ys = yTicks ?? R.ticks(y.domain, Math.max(2, Math.floor(height / 45)));
  return s("g", { class: "axes" },
    ys.map((v) => s("line", { class: "grid", x1: left, x2: left + width, y1: y(v), y2: y(v) })),
    ys.map((v) => text(left - 6, y(v) + 4, yFormat(v), { "text-anchor": "end" })),
    xs.map((v) => s("line", { class: "tick", x1: x(v), x2: x(v), y1: top + height, y2: top + height + 4 })),
    xs.map((v) => text(x(v), top + height + 17, xFormat(v), { "text-anchor": "middle" })),
    s("line", { class: "axis", x1: left, x2: left + width, y1: top + height, y2: top + height }),
    xLabel && text(left + width / 2, top + height + 34, xLabel, { "text-anchor": "middle", class: "label" }),
    yLabel && text(left - 44, top - 14, yLabel, { class: "label" }));
};

const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)},${b.toFixed(1)}`).join("");
R.path = path;

// Lines of [x, y] points; `bands` are [x, low, high]; `dots` are drawn at the points.
R.lines = (width, { series, bands = [], xDomain, yDomain, xLabel, yLabel, xFormat, yFormat, height = 260, extra, xTicks }) => {
  const left = 48;
  const top = 28;
  const w = width - left - 24;
  const hgt = height - top - 44;
  const x = R.scale(xDomain, [left, left + w]);
  const y = R.scale(yDomain, [top + hgt, top]);
  return R.svg(width, height,
    R.axes({ x, y, left, top, width: w, height: hgt, xLabel, yLabel, xFormat, yFormat, xTicks }),
    bands.map(({ points, color }) => {
      const upper = points.map(([a, , c]) => [x(a), y(c)]);
      const lower = points.map(([a, b]) => [x(a), y(b)]).reverse();
      return s("path", { d: `${path(upper.concat(lower))}Z`, fill: color, "fill-opacity": 0.18 });
    }),
    series.map(({ points, color, dash, dots, thin }) => s("g", {},
      s("path", { d: path(points.map(([a, b]) => [x(a), y(b)])), fill: "none", stroke: color, "stroke-width": thin ? 1 : 2, "stroke-dasharray": dash, "stroke-linejoin": "round" }),
      dots && points.map(([a, b, label]) => s("circle", { cx: x(a), cy: y(b), r: 3.5, fill: color }, label && s("title", {}, label))))),
    extra && extra(x, y, { left, top, w, hgt }));
};

// Horizontal bars that leave zero to both sides: [label, value, color, text].
R.diverging = (width, rows, { zero, domain } = {}) => {
  const labels = Math.min(Math.max(90, width * 0.36), 260);
  const most = Math.floor(labels / 7.2);
  const line = 24;
  const values = rows.map((r) => r[1]).concat(zero ?? 0);
  const from = labels + (Math.min(...values) < 0 ? 62 : 8);
  const to = width - 64;
  const [a, b] = domain ?? [Math.min(...values), Math.max(...values)];
  const x = R.scale(a === b ? [a - 1, b + 1] : [a, b], [from, to]);
  return R.svg(width, rows.length * line + 8,
    s("line", { class: "axis", x1: x(0), x2: x(0), y1: 0, y2: rows.length * line + 4 }),
    rows.map(([label, value, color, shown], i) => {
      const y = i * line + 4;
      const right = value >= 0;
      return s("g", {},
        text(labels, y + 14, R.plain(label, most), { "text-anchor": "end" }, s("title", {}, R.plain(label, 300))),
        s("rect", { x: Math.min(x(0), x(value)), y: y + 2, width: Math.max(1, Math.abs(x(value) - x(0))), height: line - 8, rx: 2, fill: color }),
        text(x(value) + (right ? 4 : -4), y + 14, shown, { "text-anchor": right ? "start" : "end", class: "value" }));
    }));
};
