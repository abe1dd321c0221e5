// Densities of one number by their formulas; NumberLaw in score.py states them.

const SERIES = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188]; // Stirling's, exact from FAR on
const FAR = 16;
const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);

const correction = (x) => {
  const square = 1 / (x * x);
  return SERIES.reduceRight((total, term) => term + square * total, 0) / x;
};

// log Γ(x) for x > 0: below FAR by Γ(x + 1) = x Γ(x).
const logGamma = (x) => {
  let less = 0;
  let at = x;
  while (at < FAR) { less += Math.log(at); at += 1; }
  return (at - 0.5) * Math.log(at) - at + HALF_LOG_2PI + correction(at) - less;
};

// log Γ(a + k) − log Γ(a), of large numbers without their difference.
const logRising = (a, k) => {
  if (a + k < FAR) return logGamma(a + k) - logGamma(a);
  let before = 0; // (a) (a + 1) … up to FAR
  let base = a;
  let more = k;
  while (base < FAR && more >= 1) { before += Math.log(base); base += 1; more -= 1; }
  if (more === 0) return before;
  if (base < FAR) return before + logGamma(base + more) - logGamma(base);
  const end = base + more;
  return before + more * Math.log(end) + (base - 0.5) * Math.log1p(more / base) - more + correction(end) - correction(base);
};

const power = (x, exponent) => (exponent === 0 ? Math.log1p(x) : Math.expm1(exponent * Math.log1p(x)) / exponent);

// g(x) and log g'(x).
const transformed = (transform, x) => {
  if (!transform) return [x, 0];
  if (transform.kind === "log") return x > 0 ? [Math.log(x), -Math.log(x)] : [NaN, NaN];
  const { exponent } = transform;
  const g = x >= 0 ? power(x, exponent) : -power(-x, 2 - exponent);
  return [g, (exponent - 1) * Math.sign(x) * Math.log1p(Math.abs(x))];
};

const xLog = (x, y) => (x === 0 ? 0 : x * Math.log(y));

const plain = (term, x, c, [g, slope]) => {
  if (term.law === "counts") {
    if (x < 0) return -Infinity;
    const m = term.mean[c];
    const r = term.size[c];
    return logRising(r, x) - logGamma(x + 1) + xLog(x, m) - xLog(x, r + m) - r * Math.log1p(m / r);
  }
  const z = (g - term.mean[c]) * term.scale[c];
  if (term.law === "student") return term.constant[c] - term.half[c] * Math.log1p(z * z) + slope;
  const rising = term.slope && g !== 0 ? term.slope[c] * g : 0;
  return term.constant[c] + rising - z * z + slope;
};

const mixed = (mass, { share, shift }) => {
  const top = Math.max(...mass);
  if (!Number.isFinite(top)) return mass.map(() => 0);
  const parts = mass.map((v) => Math.exp(v - top));
  const all = share * parts.reduce((a, b) => a + b, 0);
  return parts.map((v, c) => Math.log(v + all) + top - shift[c]);
};

// log p(x | c) of each class.
R.law = (term, x, k) => {
  const at = transformed(term.transform, x);
  const { pooled } = term;
  const own = Array.from({ length: k }, (_, c) => plain(term, x, c, at));
  if (!pooled) return own;
  let atom = -1;
  for (let a = 0; a < pooled.low.length; a++) if (x >= pooled.low[a] && x < pooled.high[a]) atom = a;
  return mixed(own.map((v, c) => (atom >= 0 ? pooled.atoms[atom * k + c] : v + pooled.rest[c])), pooled);
};
