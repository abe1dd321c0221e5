# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Laplace smoothing is a belief
#
# A companion to Heqin Yao, 贝叶斯统计观点下的拉普拉斯平滑 (2016, revised 2017; slides:
# heqinyao.com/static/Lap), which derives smoothing as maximum a posteriori estimation. The article
# has formulas and no numbers; here they are evaluated, beside what the library says.
#
# `python 4_laplace_smoothing_bayesian_view.py [folder]` saves the pictures in `folder`, or in
# `pictures`.

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from tallybayes import NaiveBayes, leave_one_out
from tallybayes.families import Bernoulli, Beta, Categorical, Dirichlet
from tallybayes.plots import PosteriorDisplay
from tallybayes.tally import ClassCounts, FeatureSums

FOLDER = Path(sys.argv[1] if len(sys.argv) == 2 else "pictures")
FOLDER.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## A coin
#
# θ is the probability of heads, and k of N tosses were heads. Maximum likelihood says k/N. To
# believe in θ₀ as much as λ tosses would make one is the prior Beta(1 + λθ₀, 1 + λ(1 − θ₀)): its
# mode is θ₀, and the posterior's mode is (k + λθ₀) / (N + λ).

# %%
HEADS, TOSSES = 3, 10
GUESSES, STRENGTHS = (0.25, 0.5, 0.75), (0.5, 4, 30)

figure, axes = plt.subplots(3, 3, figsize=(12, 9), sharex=True, layout="constrained")
curves = {}
for row, guess in zip(axes, GUESSES, strict=True):
    for ax, strength in zip(row, STRENGTHS, strict=True):
        prior = Beta.from_mode(guess, strength)
        display = PosteriorDisplay.from_counts(prior, (HEADS, TOSSES - HEADS), ax=ax)
        mode, mean = display.estimates["MAP"], display.estimates["mean"]
        ax.set_title(f"θ₀ = {guess}, λ = {strength:g}: MAP {mode:.3f}, mean {mean:.3f}", size=10)
        display.legend_.remove()
        curves[guess, strength] = display
lines = [
    display.prior_,
    display.likelihood_,
    *display.posteriors_,
    *display.estimates_,
]
names = ["prior", "likelihood", "posterior", f"MLE {HEADS / TOSSES:.3f}", "MAP", "posterior mean"]
figure.legend(lines, names, loc="outside lower center", ncols=6)
figure.suptitle(f"{HEADS} heads in {TOSSES} tosses: prior, likelihood and posterior")
figure.savefig(FOLDER / "4-coin.png", dpi=120)

# %% [markdown]
# ## Three estimates side by side
#
# The mode of the posterior is the article's estimate; its mean is the probability of heads at the
# next toss, θ integrated out. Without a toss maximum likelihood is 0/0 and the library says so; the
# article's answer, that the coin is then taken for fair, is a prior's.


# %%
def estimate(family, heads, tosses):
    """P(heads) as a family of the library reads it from the counts."""
    tally, classes = FeatureSums(np.array([[float(heads)]])), ClassCounts(np.array([float(tosses)]))
    return float(np.exp(family.log_probabilities(tally, classes)[0, 0]))


GUESS, STRENGTH = 0.5, 2.0
prior = Beta.from_mode(GUESS, STRENGTH)
estimates = {}
print(f"θ₀ = {GUESS}, λ = {STRENGTH:g}\n")
print("heads of   k/N     MLE    (k+λθ₀)/(N+λ)     MAP    posterior mean")
for heads, tosses in [(0, 0), (0, 1), (3, 10), (12, 40), (300, 1000)]:
    try:
        by_likelihood = estimate(Bernoulli(estimate="mle"), heads, tosses)
    except ValueError:
        by_likelihood = float("nan")
    by_mode = estimate(Bernoulli(prior=prior, estimate="map"), heads, tosses)
    by_mean = estimate(Bernoulli(prior=prior), heads, tosses)
    formula = (heads + STRENGTH * GUESS) / (tosses + STRENGTH)
    frequency = heads / tosses if tosses else float("nan")
    estimates[heads, tosses] = by_likelihood, by_mode, by_mean, formula
    print(
        f"{heads:4} {tosses:4} {frequency:7.4f} {by_likelihood:7.4f} {formula:12.4f} "
        f"{by_mode:12.4f} {by_mean:10.4f}"
    )

# %% [markdown]
# The article's mode of Beta(α, β), (α − 1) / (α + β − 2), holds for α, β ≥ 1 only. Of Beta(½, ½) it
# would be ½, where the density is least. The library refuses to name a mode there.

# %%
try:
    _ = Beta(0.5, 0.5).mode
except ValueError as error:
    refused = str(error)
    print(f"\nBeta(½, ½): {refused}")

# %% [markdown]
# ## A model
#
# Seven rows of one column with three levels. The article gives the class prior λ rows in all,
# (n + λ/K) / (N + λ), and a level λ rows each, (n + λ) / (N_c + λS): λ means two things. In the
# library both are rows for each class or level, `class_alpha` = λ/K and `alpha` = λ.

# %%
rows = pd.DataFrame({"size": ["S", "M", "L", "S", "S", "M", "M"]})
labels = np.array(["a", "a", "a", "b", "b", "b", "b"])
LAMBDA = 1.0
model = NaiveBayes(alpha=LAMBDA, class_alpha=LAMBDA / 2).fit(rows, labels)
column = model.class_conditional_["size"]

print("\nclass prior     (n + λ/K) / (N + λ)   ours")
prior_by_formula = [((labels == c).sum() + LAMBDA / 2) / (len(labels) + LAMBDA) for c in "ab"]
for label, formula, ours in zip(
    "ab", prior_by_formula, model.class_prior_distribution_.probs, strict=True
):
    print(f"  {label} {formula:26.4f} {ours:10.4f}")

print("\nP(size | class)  (n + λ) / (N_c + λS)  ours   without smoothing")
plain = NaiveBayes(alpha=0.0).fit(rows, labels).class_conditional_["size"]
table = {}
for k, label in enumerate("ab"):
    own = rows["size"][labels == label]
    for level in "SML":
        formula = ((own == level).sum() + LAMBDA) / (len(own) + 3 * LAMBDA)
        j = column.levels.index(level)
        ours, bare = column.probs[k, j], plain.probs[k, j]
        table[label, level] = formula, ours, bare
        print(f"  {level} | {label} {formula:20.4f} {ours:12.4f}{bare:13.4f}")

# %% [markdown]
# Class b never had an L: without smoothing that one zero is the whole product. With it, a picture
# of what the model believes of P(L | class) before its rows and after them.

# %%
display = PosteriorDisplay.from_estimator(model, "size", "L")
display.figure_.savefig(FOLDER / "4-level.png", dpi=120)

# %% [markdown]
# A prior need not think every level alike. The one whose mode is the article's λ with other levels
# preferred, and the estimate by its mode:

# %%
believed = Dirichlet.from_mode([0.2, 0.3, 0.5], 5.0)
preferring = NaiveBayes(
    {"size": Categorical(levels=["S", "M", "L"], prior=believed, estimate="map")}
).fit(rows, labels)
preferred = preferring.class_conditional_["size"].probs[1]
print("\nP(size | b) with 5 rows of belief in 0.2, 0.3, 0.5 for S, M, L:", preferred.round(4))

# %% [markdown]
# ## How much smoothing?
#
# The article leaves λ open. The evidence, the probability of what was counted with θ integrated
# out, chooses it: for iris with every measurement as a category, for each column by itself. Beside
# it the leave-one-out loss of the whole model, which is what one would otherwise search.

# %%
iris = load_iris(as_frame=True)
flowers, species = iris.data, iris.target_names[iris.target]
as_levels = {float: Categorical()}
ALPHAS = np.geomspace(0.01, 30, 41)
evidence = {
    name: np.array(
        [NaiveBayes(as_levels, alpha=a).fit(flowers[[name]], species).log_evidence_ for a in ALPHAS]
    )
    for name in flowers
}
chosen = NaiveBayes(as_levels, alpha="auto", criterion="evidence").fit(flowers, species)


def loss(model):
    """Mean leave-one-out log-loss, in nats a row."""
    log_proba = leave_one_out(model, flowers, species)
    own = np.searchsorted(model.classes_, species)
    return float(-log_proba[np.arange(len(own)), own].mean())


losses = [loss(NaiveBayes(as_levels, alpha=a).fit(flowers, species)) for a in ALPHAS]
loss_of_chosen = loss(chosen)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for name, style in zip(flowers, ("-", "--", "-.", ":"), strict=True):
    (line,) = left.plot(ALPHAS, evidence[name] - evidence[name].max(), style, label=name)
    left.axvline(chosen.alpha_[name], color=line.get_color(), linewidth=0.8, linestyle=style)
left.set(xscale="log", ylim=(-20, 1), xlabel="α", ylabel="log evidence less its largest, nats")
left.legend()
right.plot(ALPHAS, losses, label="one α for all columns")
right.axhline(loss_of_chosen, linestyle="--", color="0.4", label="each its own, by evidence")
right.set(xscale="log", xlabel="α", ylabel="leave-one-out log-loss, nats a row")
right.legend()
figure.savefig(FOLDER / "4-evidence.png", dpi=120)

print("\nα by evidence:", {name: round(a, 3) for name, a in chosen.alpha_.items()})
print(f"leave-one-out log-loss with them {loss_of_chosen:.4f} nats a row,")
print(f"with α = 1 {losses[int(np.abs(ALPHAS - 1).argmin())]:.4f}, at best {min(losses):.4f}")
