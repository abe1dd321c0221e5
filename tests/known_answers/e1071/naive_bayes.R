#!/usr/bin/env Rscript
# Makes table.csv and the answers of e1071's naiveBayes to it: laplace-0.csv, laplace-1.csv, and
# declared.csv, with laplace = 1 and a factor that declares a level which no training row has.
#
#   apt-get install --no-install-recommends r-base-core r-cran-e1071
#   Rscript tests/known_answers/e1071/naive_bayes.R
#
# What e1071 does (1.7-13, read in its source):
#   - numbers: mean and sd (over n - 1) of the values that are there;
#   - factors: (count + laplace) / (sum of counts + laplace * nlevels), NA not counted, a level that
#     the factor declares but no row has included;
#   - class prior: plain relative frequencies, not smoothed;
#   - predicting: NA, and a level that the factor does not declare, are left out of the product;
#     a probability of 0 becomes `threshold`, 0.001 unless told. 1e-300 here, so that it stays 0.
suppressPackageStartupMessages(library(e1071))
RNGversion("4.0.0")
set.seed(41)

call <- grep("^--file=", commandArgs(), value = TRUE)
here <- dirname(normalizePath(sub("^--file=", "", call)))
n <- 90
group <- sample(c("cat", "dog", "owl"), n, replace = TRUE, prob = c(0.5, 0.3, 0.2))
k <- match(group, c("cat", "dog", "owl"))
table <- data.frame(
  part = rep(c("train", "test"), c(60, 30)),
  group = group,
  weight = round(rnorm(n, c(4.2, 6.5, 3)[k], c(1.2, 2, 0.9)[k]), 2),
  meals = rpois(n, c(3, 2, 1)[k]) - 10,
  home = c("flat", "house", "barn")[sapply(k, function(i) {
    sample(3, 1, prob = list(c(6, 3, 1), c(2, 6, 2), c(0, 1, 9))[[i]])
  })],
  drink = c("water", "milk", "tea")[sapply(k, function(i) {
    sample(3, 1, prob = list(c(4, 5, 1), c(7, 2, 2), c(8, 1, 1))[[i]])
  })],
  tame = runif(n) < c(0.7, 0.9, 0.2)[k]
)
for (name in c("weight", "meals", "home", "drink", "tame")) table[[name]][runif(n) < 0.12] <- NA
table$drink[c(63, 70)] <- "juice"   # no training row has it; declared.csv knows it
table$home[c(66, 74)] <- "boat"     # no training row has it, never declared
table[80, c("weight", "meals", "home", "drink", "tame")] <- NA
write.csv(table, file.path(here, "table.csv"), row.names = FALSE, na = "", quote = FALSE)

answer <- function(file, laplace, drinks) {
  table$home <- factor(table$home, levels = c("flat", "house", "barn"))
  table$drink <- factor(table$drink, levels = drinks)
  train <- table$part == "train"
  model <- naiveBayes(table[train, 3:7], factor(table$group[train]), laplace = laplace)
  answers <- predict(model, table[!train, 3:7], type = "raw", threshold = 1e-300)
  text <- format(answers, digits = 17, scientific = TRUE, trim = TRUE)
  write.csv(text, file.path(here, file), row.names = FALSE, quote = FALSE)
}
answer("laplace-0.csv", 0, c("water", "milk", "tea"))
answer("laplace-1.csv", 1, c("water", "milk", "tea"))
answer("declared.csv", 1, c("water", "milk", "tea", "juice"))
