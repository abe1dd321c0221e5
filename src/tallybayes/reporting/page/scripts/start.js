// Puts the page together.

const { h, t, data } = R;

R.facts = new Map(data.columns.map((column) => [column.name, column]));
R.model = data.form ? new R.Model(data.form) : null;
R.textModel = data.textForm ? new R.TextModel(data.textForm) : null;

for (const name of ["glance", "nomogram", "rows", "columns", "quality"]) {
  const section = document.getElementById(name);
  section.hidden = false;
  const ofTerms = name === "columns" && data.unit === "document";
  if (ofTerms) section.querySelector("h2").textContent = t("termsTitle");
  const children = document.createDocumentFragment();
  const body = section.querySelector(".body");
  R[name]({ append: (...items) => children.append(...items.filter((item) => item !== null && item !== false && item !== undefined)), querySelector: (what) => children.querySelector(what) });
  body.append(children);
  document.getElementById("nav").append(h("a", { href: `#${name}` }, t(ofTerms ? "termsTitle" : `nav_${name}`)));
}
R.paint();

// For print everything that is drawn is repainted as wide as the page.
addEventListener("beforeprint", R.paint);
globalThis.tallybayes = {
  data,
  model: R.model,
  predict: (row) => {
    const { scores, proba } = R.model.predictRow(row);
    return { scores, proba };
  },
  textModel: R.textModel,
  predictText: (text) => {
    const { scores, proba } = R.textModel.predict(R.textModel.counts(text));
    return { scores, proba };
  },
  termsOf: (text) => Array.from(R.textModel.counts(text), ([term, n]) => [R.textModel.names[term], n]),
  contributions: (row) => R.model.predictRow(row).contributions.map((said) => Array.from(said)),
};
