// Rows with their waterfalls, and a form that judges any row.

const { h, s, t, data } = R;

const KINDS = ["mistake", "uncertain", "typical"];

R.shaded = (text, steps) => {
  const lower = text.toLowerCase();
  const spans = [];
  for (const [term, , nats] of steps) {
    const wanted = term.toLowerCase();
    if (!wanted.trim()) continue;
    for (let at = lower.indexOf(wanted); at >= 0 && spans.length < 400; at = lower.indexOf(wanted, at + wanted.length)) {
      const edge = (i) => /[a-z0-9]/.test(lower[i] ?? "");
      if ((/[a-z0-9]/.test(wanted[0]) && edge(at - 1)) || (/[a-z0-9]/.test(wanted[wanted.length - 1]) && edge(at + wanted.length))) continue;
      spans.push([at, at + wanted.length, nats]);
    }
  }
  spans.sort((a, b) => a[0] - b[0]);
  const parts = [];
  let end = 0;
  for (const [from, to, nats] of spans) {
    if (from < end) continue;
    parts.push(text.slice(end, from), h("mark", { class: nats >= 0 ? "for" : "against", title: R.signed(nats) }, text.slice(from, to)));
    end = to;
  }
  parts.push(text.slice(end));
  return h("p", { class: "document", dir: "auto", tabindex: "0", role: "group", "aria-label": t("document") }, parts);
};

const facts = (row) => {
  const steps = row.steps;
  const detail = data.unit === "document" ? R.shaded(row.values[0]?.[1] ?? "", steps)
    : R.later(t("allValues", { n: row.values.length }), () => R.table(t("allValues", { n: row.values.length }), [t("column"), t("value")],
      row.values.map(([name, value]) => [R.label(name), R.label(value)])));
  const read = R.textModel && h("button", { type: "button", onclick: () => {
    R.chooseText(row.values[0]?.[1] ?? "", null);
    document.getElementById("try").scrollIntoView({ behavior: "smooth", block: "start" });
  } }, t("useText"));
  const use = R.model && data.unit === "row" && h("button", { type: "button", onclick: () => {
    const held = new Map(row.values);
    R.choose(R.model.columns.map((column) => {
      const value = held.get(column.name);
      return value === undefined || value === null ? null : R.model.parse(column, value);
    }), null);
    document.getElementById("try").scrollIntoView({ behavior: "smooth", block: "start" });
  } }, t("useRow"));
  return [R.waterfall({ ...row, favour: row.predicted }), detail, use, read];
};

const summary = (row) => {
  const number = t(`${data.unit}Number`, { n: R.whole(row.number) });
  const right = row.predicted === row.own;
  return [h("span", { class: "muted" }, number), " ", R.swatch(row.predicted), R.label(data.classes[row.predicted]), ` ${R.percent(row.probability)}`,
    right ? null : [h("span", { class: "muted" }, ` · ${t("is")} `), R.swatch(row.own), R.label(data.classes[row.own])]];
};

const groups = () => KINDS.map((kind) => {
  const rows = data.rows.filter((row) => row.kind === kind);
  if (!rows.length) return kind === "mistake" ? h("p", { class: "note" }, t("noMistakes")) : null;
  return h("div", { class: "card" }, h("h3", {}, t(`kind_${kind}`)), h("p", { class: "muted small" }, t(`kindNote_${kind}`)),
    rows.map((row, i) => {
      const details = R.later(summary(row), () => h("div", {}, facts(row)), { class: "row" });
      if (kind === "mistake" && i === 0) requestAnimationFrame(() => { details.open = true; });
      return details;
    }));
});

// ---- a row of one's own -------------------------------------------------------------------------
const parseLine = (line, separator) => {
  const found = [];
  let field = "";
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quoted) {
      if (c === '"' && line[i + 1] === '"') { field += '"'; i++; } else if (c === '"') quoted = false;
      else field += c;
    } else if (c === '"' && field.trim() === "") { quoted = true; field = ""; } else if (c === separator) { found.push(field); field = ""; } else field += c;
  }
  found.push(field);
  return found.map((v) => v.trim());
};

// A pasted row: JSON, a header line with a line of values, or values alone in the order of the form.
R.parseRow = (text, names) => {
  const plain = text.trim();
  if (plain.startsWith("{")) {
    const object = JSON.parse(plain);
    return new Map(Object.entries(object).map(([key, value]) => [key, value === null ? "" : String(value)]));
  }
  const lines = plain.split(/\r?\n/).filter((line) => line.trim());
  if (!lines.length) return new Map();
  const separator = ["\t", ";", ","].map((c) => [c, lines[0].split(c).length]).sort((a, b) => b[1] - a[1])[0][0];
  const first = parseLine(lines[0], separator);
  const isHeader = lines.length > 1 && first.filter((name) => names.includes(name)).length >= Math.min(2, names.length);
  const head = isHeader ? first : names;
  const values = parseLine(lines[isHeader ? 1 : 0], separator);
  if (!isHeader && values.length !== names.length) throw new Error(t("pasteCount", { got: values.length, wanted: names.length }));
  return new Map(head.map((name, i) => [name, values[i] ?? ""]));
};

const form = () => {
  const { model } = R;
  const inputs = [];
  const answer = h("div", { class: "answer" });
  const error = h("p", { class: "error", role: "alert" });
  const lists = h("div", { class: "hidden" });
  const fields = model.columns.map((column, j) => {
    const id = R.id("field");
    const input = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false", inputmode: column.starts && !column.levels.length && !column.dates ? "decimal" : null, dir: "auto", oninput: () => judge() });
    if (column.levels.length) {
      const list = R.id("levels");
      lists.append(h("datalist", { id: list }, column.levels.filter((_, i) => column.entries.indexOf(column.entries[i]) === i).slice(0, 200).map((level) => set(h("option"), level))));
      input.setAttribute("list", list);
    }
    inputs.push(input);
    return h("div", { class: "field" }, h("label", { for: id }, R.label(column.name)), input);
  });
  function set(option, level) { option.value = level; return option; }
  const read = () => model.columns.map((column, j) => model.parse(column, inputs[j].value));
  const show = (values) => {
    model.columns.forEach((column, j) => {
      const text = model.text(column, values[j]);
      const held = model.parse(column, inputs[j].value);
      if (held !== values[j]) inputs[j].value = text;
    });
    render(values);
  };
  const render = (values) => {
    const wrong = model.columns.map((column, j) => [column, model.complaint(column, values[j]), values[j]]).filter((item) => item[1]);
    inputs.forEach((input, j) => {
      if (model.complaint(model.columns[j], values[j])) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    });
    error.textContent = wrong.map(([column, complaint, value]) => t(complaint, { column: R.plain(column.name), value: R.plain(value === null ? null : model.text(column, value)) })).join(" ");
    if (wrong.length) { answer.replaceChildren(); return false; }
    const found = model.predict(values);
    const order = R.ordered(found.scores);
    const curved = model.terms.some((term) => term.kind === "curve");
    R.fill(answer, h("h4", {}, t("prediction"), " ", R.swatch(R.ordered(found.proba)[0]), R.label(data.classes[R.ordered(found.proba)[0]])), R.probabilities(found.proba),
      order.length > 1 && R.waterfall(R.stepsOf(model, values, found, order[0], order[1])),
      curved && h("p", { class: "muted small" }, t("curved")));
    R.paint();
    return true;
  };
  const judge = () => { const values = read(); if (render(values)) R.choose(values, show); };
  const paste = h("textarea", { rows: "3", id: R.id("paste"), spellcheck: "false", placeholder: t("pasteExample") });
  const fill = () => {
    try {
      const values = R.parseRow(paste.value, model.columns.map((column) => column.name));
      model.columns.forEach((column, j) => { if (values.has(column.name)) inputs[j].value = values.get(column.name); });
      error.textContent = "";
      judge();
    } catch (problem) { error.textContent = t("pasteWrong", { reason: problem.message }); }
  };
  R.state.listeners.push(show);
  requestAnimationFrame(() => show(R.state.values ?? R.usual(model)));
  return h("div", { class: "card", id: "try" }, h("h3", {}, t("tryTitle")), h("p", { class: "muted small" }, t("tryIntro")),
    h("div", { class: "grid2 wide" }, h("form", { onsubmit: (event) => event.preventDefault() }, h("div", { class: "fields" }, fields), lists,
      h("label", { for: paste.id }, t("paste")), paste, h("button", { type: "button", onclick: fill }, t("fill")), error), answer));
};

R.rows = (body) => {
  body.append(h("p", {}, t(`rowsIntro_${data.unit}`)), ...groups().flat().filter(Boolean));
  if (R.textModel) { body.append(R.textForm()); return; }
  if (!R.model) body.append(h("p", { class: "note" }, t(`noForm_${data.noForm}`)));
  else if (R.model.columns.length <= 300) body.append(form());
};
