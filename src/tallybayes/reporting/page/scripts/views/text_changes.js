// What would change the decision on a text: words that are taken away.

const { h, t, data } = R;
const TRIED = 60; // words of the text that are taken away one by one
const IN_TWOS = 14;
const SHOWN = 6;

const withoutTokens = (model, units, gone) => model.count(units.filter((unit) => !gone.includes(unit)));

R.smallestTextChanges = (model, text) => {
  const units = model.splitter.units(text);
  const before = model.predict(model.count(units));
  const best = R.ordered(before.proba)[0];
  const strength = new Map(before.contributions.map(([term, said]) => [model.names[term], R.against(said, best)]));
  const tokens = [...new Set(units)].sort((a, b) => (strength.get(b) ?? 0) - (strength.get(a) ?? 0)).slice(0, TRIED);
  const tried = (gone) => {
    const { proba } = model.predict(withoutTokens(model, units, gone));
    return { gone, to: R.ordered(proba)[0], p: proba[R.ordered(proba)[0]], left: proba[best] };
  };
  const single = tokens.map((token) => tried([token]));
  const one = single.filter((c) => c.to !== best).sort((a, b) => b.p - a.p);
  const alone = new Set(one.map((c) => c.gone[0]));
  const firsts = single.filter((c) => !alone.has(c.gone[0])).sort((a, b) => a.left - b.left).slice(0, IN_TWOS);
  const two = firsts.flatMap((a, i) => firsts.slice(i + 1).map((b) => tried([a.gone[0], b.gone[0]]))).filter((c) => c.to !== best).sort((a, b) => b.p - a.p);
  return { best, one: one.slice(0, SHOWN), two: two.slice(0, SHOWN) };
};

R.textChanges = (element) => {
  const model = R.textModel;
  if (!R.bag.text.trim()) { element.replaceChildren(); return; }
  const { best, one, two } = R.smallestTextChanges(model, R.bag.text);
  const item = (found) => h("li", {}, t("without"), " ", found.gone.map((token, i) => [i ? h("span", { class: "muted" }, ` ${t("and")} `) : null, h("strong", {}, R.label(token))]), ": ",
    R.swatch(found.to), R.label(data.classes[found.to]), ` ${R.percent(found.p)}`);
  R.fill(element, h("p", {}, t("textNow"), " ", R.swatch(best), h("strong", {}, R.label(data.classes[best]))),
    one.length ? h("ul", { class: "changes" }, one.map(item)) : h("p", { class: "muted" }, t("noSingleWord")),
    two.length ? [h("p", { class: "muted small" }, t("inTwoWords")), h("ul", { class: "changes" }, two.map(item))] : null);
};
