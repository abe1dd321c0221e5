# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Bayesian inference
#
# The examples of Nova, *贝叶斯推断方法: 从经验知识到推断未知*, novasky.top, 2017-02-23, with this
# library: Bayes' rule, the dog and the burglar, cancer and age, the workflow of its section 4.3, a
# cold in an age group that was never seen, and its two slips.
#
# Run it with `python examples/3_bayesian_inference.py [folder for the pictures]`.

# %%
import warnings
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np
from article import beside, save, table, title
from scipy.integrate import quad

from tallybayes import NaiveBayes, bayes_rule, update
from tallybayes.families import Categorical, Gaussian

# %% [markdown]
# ## Section 3: the dog and the burglar
#
# Two burglaries in twenty years of 365 nights; a dog that barks three nights a week, and with
# probability 0.9 when there is a burglar.

# %%
title("P(burglar | the dog barks)")
burglar = bayes_rule(2 / (20 * 365), 0.9, 3 / 7)  # prior, likelihood, evidence
beside("by prior, likelihood and evidence", "0.00058", f"{burglar:.6f}")
exact = Fraction(2, 7300) * Fraction(9, 10) / Fraction(3, 7)
beside("as a fraction", "", f"{exact} = {float(exact):.6f}")
window = bayes_rule(burglar, 0.5, 0.5 * burglar + 0.01 * (1 - burglar))
both = update([1 - burglar, burglar], [0.01, 0.5])[-1]
print(f"a broken window besides (made up: 0.5 with a burglar, 0.01 without): {window:.4f}")

# %% [markdown]
# ## Section 1: cancer and age
#
# The article has no numbers for this one; these are made up. Knowing the age is evidence: the share
# of an age group among the sick, against its share among all.

# %%
title("P(cancer | age), numbers made up")
ages = ["under 40", "40 to 64", "65 and over"]
among_all, among_sick = np.array([0.50, 0.32, 0.18]), np.array([0.10, 0.35, 0.55])
base_rate = 0.005
by_age = [
    bayes_rule(base_rate, sick, everyone)
    for sick, everyone in zip(among_sick, among_all, strict=True)
]
table(
    ["age", "share of all", "share of the sick", "P(cancer | age)"],
    list(zip(ages, among_all, among_sick, by_age, strict=True)),
)
print(f"not knowing the age: {base_rate}; averaged over the ages: {np.dot(by_age, among_all):.6f}")

# %% [markdown]
# ## Sections 4.1 to 4.3: discrete and continuous attributes in one model
#
# The workflow of section 4.3 has three stages: prepare the data and say what each attribute is;
# train, that is P(c) and P(xᵢ | c) of every attribute; apply, P(c) ∏ P(xᵢ | c), the largest wins.

# %%
title("Stage 1: the data, and what each attribute is")
rng = np.random.default_rng(3)
sick = rng.uniform(size=60) < 0.4
patients = [
    {
        "headache": "yes" if rng.uniform() < (0.8 if s else 0.25) else "no",
        "age": str(rng.choice(["young", "middle", "old"], p=[0.2, 0.5, 0.3])),
        "temperature": round(float(rng.normal(38.2 if s else 36.7, 0.5)), 1),
    }
    for s in sick
]
labels = np.where(sick, "cold", "no cold")
attributes = {
    "headache": Categorical(levels=["yes", "no"]),
    "age": Categorical(levels=["young", "middle", "old"]),
    "temperature": Gaussian(),
}
for row, label in list(zip(patients, labels, strict=True))[:3]:
    print(" ", row, label)

# %%
title("Stage 2: training is P(c), and P(x | c) of every attribute")
model = NaiveBayes(attributes).fit(patients, labels)
classes = model.classes_.tolist()
table(["class", "P(c)"], list(zip(classes, np.exp(model.class_log_prior_), strict=True)))
for name, family in attributes.items():
    if isinstance(family, Categorical):
        levels = list(family.levels)
        each = model.explain([{name: level} for level in levels]).contributions
        shares = np.exp(each[:, :, list(attributes).index(name)])
        table(["P(x | c)", *levels], [[c, *shares[:, k]] for k, c in enumerate(classes)])
grade = [p["temperature"] for p in patients]
of_class = [np.array(grade)[labels == c] for c in classes]
table(
    ["temperature", "mean", "standard deviation"],
    [[c, part.mean(), part.std()] for c, part in zip(classes, of_class, strict=True)],
)

# %%
title("Stage 3: apply; the largest P(c) ∏ P(x | c) wins")
patient = {"headache": "yes", "age": "old", "temperature": 37.4}
print(model.explain_one(patient))
answer = model.predict_proba_one(patient)
print(patient, "->", max(answer, key=answer.get), {c: round(p, 4) for c, p in answer.items()})

# %% [markdown]
# ## Section 4.4: an age group that was never seen
#
# Twenty people, none of them 少年 (young); the article has the levels, the rows are typed here. Is
# a young person with a headache ill? Without smoothing every class is ruled out, not only the cold.

# %%
title("A young person with a headache, where training saw none")
counts = [  # 年龄, 是否头痛, 是否感冒, people
    ("中年", "是", "是", 5),
    ("中年", "否", "是", 1),
    ("老年", "是", "是", 2),
    ("中年", "是", "否", 2),
    ("中年", "否", "否", 4),
    ("老年", "是", "否", 1),
    ("老年", "否", "否", 5),
]
people = [{"年龄": age, "是否头痛": ache} for age, ache, _, n in counts for _ in range(n)]
cold = [label for *_, label, n in counts for _ in range(n)]
young = {"年龄": "少年", "是否头痛": "是"}
age_groups = ["少年", "中年", "老年"]


def cold_model(alpha: float) -> NaiveBayes:
    """The article's attributes with λ = alpha."""
    columns = {"年龄": Categorical(levels=age_groups), "是否头痛": Categorical(levels=["是", "否"])}
    return NaiveBayes(columns, alpha=alpha, class_alpha=alpha).fit(people, cold)


with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    unsmoothed = cold_model(0.0).predict_proba([young])[0]
print(f"λ = 0: {told[0].category.__name__}; left is the class prior {unsmoothed}")
smoothed = cold_model(1.0)
posterior = smoothed.predict_proba_one(young)
print(f"λ = 1: P(感冒 | 少年, 头痛) = {posterior['是']:.4f}")

# %% [markdown]
# ## Slip 1: the smoothing denominator
#
# The article defines Nᵢ, the number of values of attribute i, and then divides by |D_c| + N with N
# the number of *classes*. The probabilities of the three age groups then sum to more than one.

# %%
title("Slip 1: N in place of Nᵢ")
age_counts = {"少年": 0, "中年": 6, "老年": 2}  # of the 8 with a cold
right = [Fraction(n + 1, 8 + 3) for n in age_counts.values()]
wrong = [Fraction(n + 1, 8 + 2) for n in age_counts.values()]
table(
    ["age group", "article: (n + 1) / (8 + N)", "right: (n + 1) / (8 + Nᵢ)"],
    [[age, str(w), str(r)] for age, w, r in zip(age_groups, wrong, right, strict=True)]
    + [["sum", str(sum(wrong)), str(sum(right))]],
)
explained = smoothed.explain([{"年龄": age} for age in age_groups])
ours = np.exp(explained.contributions[:, list(smoothed.classes_).index("是"), 0])
beside("P(少年 | 感冒)", f"{wrong[0]}", f"{ours[0]:.6f} = {right[0]}")

# %% [markdown]
# ## Slip 2: the Gaussian density
#
# The article divides by √(2πσ); right is √(2π)·σ. What it prints integrates to √σ, so that classes
# of unequal spread are compared with the wrong factor, and that changes labels.

# %%
title("Slip 2: √(2πσ) in place of √(2π)·σ")


def density(x, mu, sigma):
    """N(x; μ, σ²)."""
    return np.exp(-((x - mu) ** 2) / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma)


def density_of_the_article(x, mu, sigma):
    """The same with the article's factor."""
    return density(x, mu, sigma) * np.sqrt(sigma)


sigmas = [0.25, 1.0, 4.0]
integrals = [quad(density_of_the_article, -60, 60, args=(0.0, s), points=[0.0])[0] for s in sigmas]
table(
    ["σ", "∫ article", "√σ", "∫ right"],
    [
        [s, area, np.sqrt(s), quad(density, -60, 60, args=(0.0, s), points=[0.0])[0]]
        for s, area in zip(sigmas, integrals, strict=True)
    ],
)
centres, spreads = np.array([0.0, 1.0]), np.array([1.0, 4.0])  # two classes, equally frequent
x = np.linspace(-8, 8, 1601)
by_right = density(x[:, None], centres, spreads).argmax(axis=1)
by_article = density_of_the_article(x[:, None], centres, spreads).argmax(axis=1)
differ = x[by_right != by_article]
print(f"classes N(0, 1) and N(1, 16): labels differ for {len(differ) / len(x):.1%} of −8 … 8,")
print(f"such as x = {differ[len(differ) // 2]:.2f}")
sample = np.concatenate([rng.normal(0, 1, 4000), rng.normal(1, 4, 4000)])
truth = np.repeat([0, 1], 4000)
fitted = NaiveBayes({"x": Gaussian()}).fit([{"x": v} for v in sample], truth)
accuracy = (fitted.predict([{"x": v} for v in sample]) == truth).mean()
mu = [sample[truth == c].mean() for c in (0, 1)]
sd = [sample[truth == c].std() for c in (0, 1)]
article_accuracy = (
    density_of_the_article(sample[:, None], np.array(mu), np.array(sd)).argmax(axis=1) == truth
).mean()
beside("accuracy on 8,000 draws of them", f"{article_accuracy:.4f}", f"{accuracy:.4f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
axes[0].bar(ages, by_age, color="#0072B2")
axes[0].axhline(base_rate, color="#D55E00", label="not knowing the age")
axes[0].set(title="P(cancer | age), numbers made up", ylabel="probability")
axes[0].legend()
for c, colour in enumerate(["#0072B2", "#E69F00"]):
    axes[1].plot(x, density(x, centres[c], spreads[c]), color=colour, label=f"class {c}")
    wrong_curve = density_of_the_article(x, centres[c], spreads[c])
    axes[1].plot(x, wrong_curve, "--", color=colour, label=f"class {c}, with √(2πσ)")
axes[1].set(title="Gaussian densities", xlabel="x", ylabel="p(x | class)")
axes[1].legend(fontsize="small")
save(figure, "3_bayesian_inference.png")
