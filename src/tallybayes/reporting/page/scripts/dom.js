// Elements, words, numbers, and figures with their alternative as a table.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
R.data = read("data");
R.words = read("words");
R.lang = document.documentElement.lang;

// A sentence of the page, with {names} replaced.
R.t = (key, values = {}) => {
  const text = R.words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
};

const add = (element, children) => {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
};

// Replaces what an element holds; what is null or false is left out.
R.fill = (element, ...children) => { element.replaceChildren(); return add(element, children); };

const set = (element, attributes) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "styles") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else if (["value", "checked", "open", "disabled"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  return element;
};

R.h = (tag, attributes = {}, ...children) => add(set(document.createElement(tag), attributes), children);
const NS = "http://www.w3.org/2000/svg";
R.s = (tag, attributes = {}, ...children) => add(set(document.createElementNS(NS, tag), attributes), children);

const { h, s, t } = R;

// ---- numbers ----------------------------------------------------------------------------------
const whole = new Intl.NumberFormat(R.lang, { maximumFractionDigits: 0 });
const few = new Intl.NumberFormat(R.lang, { maximumSignificantDigits: 4 });
const percent = new Intl.NumberFormat(R.lang, { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const round = new Intl.NumberFormat(R.lang, { style: "percent", maximumFractionDigits: 1 });
const fine = new Intl.NumberFormat(R.lang, { style: "percent", maximumFractionDigits: 3 });
R.whole = (v) => whole.format(v);
R.few = (v) => (v === null ? "∞" : few.format(v));
// Rows: whole numbers in full; weights that are not whole in four digits, of large ones no fraction.
R.count = (v) => (Math.abs(v) >= 1000 || Math.abs(v - Math.round(v)) < 1e-6 * Math.max(1, v) ? whole.format(v) : few.format(v));
R.percent = (v) => {
  if (v === null) return "–";
  return (v > 0 && v < 0.001) || (v < 1 && v > 0.999) ? fine.format(v) : percent.format(v);
};
R.tick = (v) => round.format(v);
R.fixed = (v, digits = 2) => (v === null ? "∞" : v.toLocaleString(R.lang, { minimumFractionDigits: digits, maximumFractionDigits: digits }));
R.signed = (v, digits = 2) => {
  const shown = R.fixed(Math.abs(v), digits);
  return Math.abs(v) < 0.5 * 10 ** -digits ? shown : (v < 0 ? "−" : "+") + shown;
};

// ---- names ------------------------------------------------------------------------------------
// A name, level or class as text: blanks are named, and each is isolated, so that its direction
// does not reach its neighbours.
R.label = (text) => {
  const shown = text === null ? t("missing") : text.trim() === "" ? t("blank", { n: text.length }) : text;
  return h("bdi", { class: text === null || text.trim() === "" ? "odd" : null }, shown);
};
R.plain = (text, most = 40) => {
  const shown = text === null ? t("missing") : text.trim() === "" ? t("blank", { n: text.length }) : text;
  const one = shown.replace(/\s+/g, " ").replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
  const points = Array.from(one);
  return points.length > most ? points.slice(0, most - 1).join("") + "…" : one;
};
R.className = (k, most = 40) => R.plain(R.data.classes[k], most);
R.color = (k) => `var(--c${R.data.drawnClasses.indexOf(k) < 0 ? 11 : R.data.drawnClasses.indexOf(k) % 12})`;
// What speaks against a class: of two classes, the other one.
R.opposed = (k) => (R.data.classes.length === 2 ? R.color(1 - k) : "var(--c11)");
R.swatch = (k) => {
  const box = h("span", { class: "swatch", "aria-hidden": "true" });
  box.style.setProperty("background", R.color(k));
  return box;
};

// ---- tables and figures -----------------------------------------------------------------------
let ids = 0;
R.id = (what) => `${what}-${++ids}`;

R.table = (caption, head, rows, numeric = []) => {
  const cell = (tag, content, j, more = {}) => h(tag, { class: numeric.includes(j) ? "n" : null, ...more }, content);
  const table = h("table", {},
    h("caption", {}, h("span", {}, caption)),
    h("thead", {}, h("tr", {}, head.map((name, j) => cell("th", name, j, { scope: "col" })))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((content, j) =>
      (j ? cell("td", content, j) : cell("th", content, j, { scope: "row" })))))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
};

const drawn = [];
// A figure that is drawn as wide as its place, again when that changes, with a table instead.
R.figure = ({ title, note, alt, draw, table, height }) => {
  const place = h("div", { class: "chart" });
  if (height) place.style.setProperty("min-height", `${height}px`);
  const paint = () => {
    const width = Math.floor(place.clientWidth);
    if (width < 40 || width === place.paintedWidth) return;
    place.paintedWidth = width;
    const picture = draw(Math.min(width, 1200));
    set(picture, { role: "img", "aria-label": typeof alt === "function" ? alt() : alt });
    place.replaceChildren(picture);
  };
  place.paint = paint;
  place.repaint = () => { place.paintedWidth = 0; paint(); };
  drawn.push(place);
  requestAnimationFrame(paint);
  const more = table && R.later(t("asTable"), () => table());
  const figure = h("figure", {}, title && h("figcaption", {}, title), note && h("p", { class: "muted small" }, note), place, more);
  figure.repaint = place.repaint;
  return figure;
};

// Details whose content is made when they are opened.
R.later = (summary, make, attributes = {}) => {
  const details = h("details", attributes, h("summary", {}, summary));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(make());
    R.paint();
  });
  return details;
};

R.paint = () => requestAnimationFrame(() => {
  for (const place of drawn) if (place.isConnected) place.paint();
});
let waiting = 0;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(R.paint, 120); });

R.say = (text) => { document.getElementById("live").textContent = text; };

// A choice of one class; calls back with its number.
R.classChoice = (label, chosen, choose, classes = R.data.drawnClasses) => {
  const select = h("select", { onchange: () => choose(Number(select.value)) },
    classes.map((k) => set(h("option", { value: k }, R.className(k)), k === chosen ? { selected: true } : {})));
  select.value = String(chosen);
  return h("label", { class: "choice" }, h("span", {}, label), select);
};

R.target = () => {
  const shown = R.data.drawnClasses;
  return R.data.classes.length === 2 ? 1 : shown.reduce((a, b) => (R.data.classRows[b] > R.data.classRows[a] ? b : a), shown[0]);
};
