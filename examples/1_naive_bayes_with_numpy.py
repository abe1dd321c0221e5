# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Naive Bayes with NumPy
#
# The system of orion-orion, *统计学习:朴素贝叶斯模型(Numpy实现)*, cnblogs.com, 2021-08-17, after
# Li Hang, *统计学习方法* (2nd edition, 2019), with this library: Iris with every measurement read
# as a category, λ = 1, the levels of each column declared. Equation numbers are the article's.
#
# Run it with `python examples/1_naive_bayes_with_numpy.py [folder for the pictures]`.

# %%
import importlib.util
import warnings

import matplotlib.pyplot as plt
import numpy as np
from article import beside, save, table, title
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from tallybayes import CategoricalNB

X, y = load_iris(return_X_y=True)
names = ["sepal length", "sepal width", "petal length", "petal width"]
kinds = ["setosa", "versicolor", "virginica"]
levels = [sorted(set(column)) for column in X.T.tolist()]  # A_j, of all rows as in the article
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %% [markdown]
# ## The article's result

# %%
title("Iris as categories, λ = 1, declared levels")
model = CategoricalNB(alpha=1, class_alpha=1, levels=levels).fit(X_train, y_train)
accuracy = model.score(X_test, y_test)
beside("accuracy on 75 flowers, one decimal", "0.9", f"{accuracy:.1f}")
beside("the same, four decimals", "", f"{accuracy:.4f}")

# %% [markdown]
# ## Equations (3) and (6), for one flower
#
# (6) is (3) with the likelihood as a product over the columns, (5).

# %%
title("P(Y | X = x) of one flower")
flower = X_test[:1]
prior = np.exp(model.class_log_prior_)  # (12)
factors = np.array(  # P(X_j = x_j | Y = y) of (11), one row a class
    [np.exp(t[:, levels[j].index(flower[0, j])]) for j, t in enumerate(model.feature_log_prob_)]
).T
likelihood = factors.prod(axis=1)  # (5)
evidence = (likelihood * prior).sum()  # the denominator of (3)
posterior = likelihood * prior / evidence  # (6)
table(
    ["class", "P(y)", *[f"P(x{j} | y)" for j in (1, 2, 3, 4)], "P(y | x)", "predict_proba"],
    [
        [kind, *row]
        for kind, *row in zip(
            kinds, prior, *factors.T, posterior, model.predict_proba(flower)[0], strict=True
        )
    ],
)
print(
    f"  P(X = x) = {evidence:.6g}; score_samples gives {np.exp(model.score_samples(flower)[0]):.6g}"
)

# %% [markdown]
# ## Three ways to use it, one answer
#
# A **lookup table** is counted beforehand; **lazy learning** counts when it is asked; **incremental
# learning** adds the counts of new rows to the old.

# %%
title("Three ways of use on the same flowers")
answers = {"lookup table": model.predict_proba(X_test)}

incremental = CategoricalNB(alpha=1, class_alpha=1, levels=levels)
for row, label in zip(X_train, y_train, strict=True):
    incremental.partial_fit([row], [label], classes=[0, 1, 2])
answers["incremental, row by row"] = incremental.predict_proba(X_test)

if importlib.util.find_spec("duckdb") and importlib.util.find_spec("pyarrow"):
    import pyarrow as pa

    from tallybayes import LazyNaiveBayes
    from tallybayes.families import Categorical

    flowers = pa.table({**dict(zip(names, X_train.T, strict=True)), "kind": y_train})
    declared = {n: Categorical(levels=a) for n, a in zip(names, levels, strict=True)}
    lazy = LazyNaiveBayes(flowers, "kind", columns=declared)  # no fit
    answers["lazy, one SQL statement"] = lazy.predict_proba(X_test)
else:
    print("lazy learning is left out: pip install 'tallybayes[duckdb]' pyarrow")

table(
    ["way", "misclassified", "largest difference to the lookup table"],
    [
        [way, (p.argmax(axis=1) != y_test).sum(), abs(p - answers["lookup table"]).max()]
        for way, p in answers.items()
    ],
)

# %% [markdown]
# ## What the article's program does wrong
#
# **The product of probabilities underflows.** Repeat the four columns until the product of every
# class is 0 for some flower; sums of logarithms go on.

# %%
title("Slip 1: a product of probabilities underflows")
at = [[values.index(a) for a in column] for values, column in zip(levels, X_test.T, strict=True)]
tables = [np.exp(t) for t in model.feature_log_prob_]
each = np.array([t[:, codes] for t, codes in zip(tables, at, strict=True)])  # column, class, flower
with np.errstate(under="ignore"):
    products = np.cumprod(np.tile(each, (250, 1, 1)), axis=0)  # of 1 to 1000 columns
first_zero = int((products == 0).any(axis=(1, 2)).argmax()) + 1
all_zero = int((products == 0).all(axis=1).any(axis=1).argmax()) + 1
repeats = 500
wide = CategoricalNB(alpha=1, class_alpha=1, levels=levels * repeats)
wide.fit(np.tile(X_train, repeats), y_train)
wide_test = np.tile(X_test, repeats)
log_joint = wide.predict_joint_log_proba(wide_test)
print(f"a product is 0, and the article's program stops, from {first_zero} columns on")
print(f"every class of some flower has the product 0 from {all_zero} columns on")
print(
    f"in log space, {4 * repeats} columns: log P(x, y) from {log_joint.min():.0f} to "
    f"{log_joint.max():.0f} nats, accuracy {wide.score(wide_test, y_test):.4f}"
)

figure, axes = plt.subplots(figsize=(6, 3.5))
columns = np.arange(1, 1001)
product = products[:, y_test[0], 0]
logarithms = np.cumsum(np.log10(np.tile(each[:, y_test[0], 0], 250)))
axes.plot(columns, logarithms, label="sum of logarithms")
axes.plot(columns[product > 0], np.log10(product[product > 0]), "--", label="product")
axes.axhline(np.log10(5e-324), color="grey", linewidth=0.8)
axes.set(xlabel="columns", ylabel="log₁₀ P(x | y) of one flower", title="Where the product ends")
axes.legend()
underflow_figure = figure
save(figure, "1_underflow.png")

# %% [markdown]
# **A true zero is reported as underflow.** With λ = 0, (10), a value that a class never had makes
# the product 0, rightly. The program raises "prob underflow!" for it.

# %%
title("Slip 2: a true zero, λ = 0, is not an underflow")
unsmoothed = CategoricalNB(alpha=0, class_alpha=0, levels=levels).fit(X_train, y_train)
scores = unsmoothed.predict_joint_log_proba(X_test)
zeros = int(np.isneginf(scores).any(axis=1).sum())
ruled_out = int(np.isneginf(scores).all(axis=1).sum())
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    unsmoothed_accuracy = unsmoothed.score(X_test, y_test)
print(
    f"{zeros} of 75 flowers have a class of probability exactly 0; the program stops at the first"
)
print(f"{ruled_out} are ruled out by every class: they get the class prior and a warning:")
print(f"  {told[0].category.__name__}: {told[0].message}")
print(f"accuracy without smoothing: {unsmoothed_accuracy:.4f}")

# %% [markdown]
# **`fit` twice corrupts the counts**, so that the incremental learning that the article promises is
# impossible: counts and probabilities are kept in the same place, and a second `fit` adds counts to
# probabilities. Here for sepal width in the class setosa.

# %%
title("Slip 3: fitting twice")
n = model.tally_.groups[0].column(1)[0]  # counts of each level
total, smoothing = n.sum(), len(n)
once = (n + 1) / (total + smoothing)
twice_in_place = (once + n + 1) / (2 * total + smoothing)  # as the article's program does
twice = CategoricalNB(alpha=1, class_alpha=1, levels=levels)
twice.partial_fit(X_train, y_train, classes=[0, 1, 2]).partial_fit(X_train, y_train)
twice_right = np.exp(twice.feature_log_prob_[1][0])
table(
    ["", "sum over the levels", "largest"],
    [
        ["fitted once", once.sum(), once.max()],
        ["fitted twice by the article", twice_in_place.sum(), twice_in_place.max()],
        ["learned twice by partial_fit", twice_right.sum(), twice_right.max()],
    ],
)
again = CategoricalNB(alpha=1, class_alpha=1, levels=levels).fit(X_train, y_train)
again.fit(X_train, y_train)
print(f"fit twice is fit once: {again.tally_ == model.tally_}")

# %% [markdown]
# **An error that is built and never raised**: the article's check of the lengths makes an
# AssertionError and drops it, and the rows without a label are silently not counted. **A value that
# was never declared** is a bare KeyError when it predicts.

# %%
title("Slips 4 and 5: errors")
messages = {}
for slip, call in {
    "lengths differ": lambda: CategoricalNB(levels=levels).fit(X_train, y_train[:-5]),
    "never declared, training": lambda: CategoricalNB(levels=levels).fit([[9.9, 3, 1, 0.2]], [0]),
    "never declared, asked": lambda: (
        CategoricalNB(levels=levels, unseen="error")
        .fit(X_train, y_train)
        .predict([[9.9, 3, 1, 0.2]])
    ),
}.items():
    try:
        call()
    except ValueError as error:
        messages[slip] = str(error)
        print(f"{slip}: {type(error).__name__}: {error}")

# %% [markdown]
# **The levels are taken from the test rows, too.** Training must not know them. With the levels of
# the training rows alone, a value that is new gets α / (n + α·N), or is left out of the product.

# %%
title("Slip 6: levels of the test rows")
own_levels = [sorted(set(column)) for column in X_train.T.tolist()]
new = int(sum((~np.isin(X_test[:, j], own_levels[j])).sum() for j in range(4)))
honest = {
    unseen: CategoricalNB(alpha=1, class_alpha=1, levels=own_levels, unseen=unseen)
    .fit(X_train, y_train)
    .score(X_test, y_test)
    for unseen in ("smooth", "ignore")
}
print(f"{new} of the 300 test values do not occur in training")
for unseen, score in honest.items():
    beside(f"accuracy, levels of the training rows, unseen={unseen!r}", "0.9", f"{score:.4f}")

# %% [markdown]
# **Equations (9) and (12) lack the indicator I(·)** of (10) and (11). Read as they stand, they add
# up truth values that are nowhere turned into numbers; meant is the number of rows of the class.

# %%
title("Slip 7: the indicator that (9) and (12) lack")
counted = [(sum(int(label == c) for label in y_train) + 1) / (len(y_train) + 3) for c in range(3)]
table(["class", "(12) with I", "class_log_prior_"], list(zip(kinds, counted, prior, strict=True)))

# %% [markdown]
# ## The lookup table as a picture

# %%
figure, axes = plt.subplots(figsize=(7, 2.4))
lookup = np.exp(model.feature_log_prob_[2])  # petal length
image = axes.imshow(lookup, aspect="auto", cmap="cividis")
axes.set_yticks(range(3), kinds)
axes.set_xticks(range(0, len(levels[2]), 4), [f"{a:g}" for a in levels[2][::4]])
axes.set(xlabel="petal length (cm), as a category", title="P(level | class), λ = 1")
figure.colorbar(image)
lookup_figure = figure
save(figure, "1_lookup_table.png")
