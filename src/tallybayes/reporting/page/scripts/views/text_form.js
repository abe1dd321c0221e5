// A form that judges any text.

const { h, t, data } = R;

R.textForm = () => {
  const model = R.textModel;
  const answer = h("div", { class: "answer" });
  const area = h("textarea", { rows: "7", id: R.id("text"), dir: "auto" });
  const render = () => {
    const counts = model.counts(area.value);
    const found = model.predict(counts);
    const order = R.ordered(found.scores);
    const best = R.ordered(found.proba)[0];
    const steps = order.length > 1 ? R.textSteps(model, counts, found, order[0], order[1]) : null;
    R.fill(answer, h("h4", {}, t("prediction"), " ", R.swatch(best), R.label(data.classes[best])), R.probabilities(found.proba),
      steps && R.shaded(area.value, steps.all.slice(0, 120)), steps && R.waterfall(steps));
    R.paint();
  };
  let waiting = 0;
  const follow = () => { if (area.value !== R.bag.text) area.value = R.bag.text; render(); };
  area.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { render(); R.chooseText(area.value, follow); }, 150);
  });
  R.bag.listeners.push(follow);
  follow();
  return h("div", { class: "card", id: "try" }, h("h3", {}, t("tryTextTitle")), h("p", { class: "muted small" }, t("tryTextIntro")), R.cutNote(),
    h("div", { class: "grid2 wide" }, h("form", { onsubmit: (event) => event.preventDefault() }, h("label", { for: area.id }, t("pasteText")), area), answer));
};
