"""Estimates from a sample without replacement: `k` of `n` rows are seen, each set of so many with the
same chance.

Errors are those of simple random sampling with the finite population correction `1 - k / n`
(Cochran, Sampling Techniques, chapters 2 and 3). Domains are the rows that count, `m` of the `k`:

- *sum*: `n` times the mean of a column that is 0 outside the domain;
- *average*: the mean of the domain, given that `m` of its rows were drawn;
- *share*: an average of 0 and 1, whose bounds are Wilson's: they say something also where all rows
  seen are alike.

Bounds of sums and averages are quantiles of Student's law with `m - 1` degrees of freedom. So they
are wide where few rows count, and the normal law's where many do. Where all rows are seen, the value
is exact: the error is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Estimate:
    """A value, its standard error, and the bounds between which the true value is with the wanted
    confidence; None for what the sample does not say.
    """

    value: float | None
    error: float | None
    low: float | None
    high: float | None


UNKNOWN = Estimate(None, None, None, None)


@dataclass(frozen=True)
class Seen:
    """The rows of a domain in the sample.

    Attributes:
        rows: the number of rows with a value.
        total: the sum of their values.
        variance: the mean squared deviation from their mean; 0 without rows.
    """

    rows: int
    total: float
    variance: float


@dataclass(frozen=True)
class Sampled:
    """The law of a sample.

    Attributes:
        k: the number of rows in it, at least 1 if `n` is.
        n: the number of rows from which it was drawn, at least `k`.
        confidence: the chance that bounds are to hold, between 0 and 1.
    """

    k: int
    n: int
    confidence: float

    def sum(self, seen: Seen) -> Estimate:
        """The sum over the domain in all rows."""
        if self._is_all:
            return _exact(seen.total)
        if not seen.rows:
            return Estimate(0.0, None, None, None)
        scale = self.n / self.k
        mean = seen.total / seen.rows
        squares = seen.rows * (seen.variance + mean * mean * (1 - seen.rows / self.k))
        error = None if self.k == 1 else scale * math.sqrt(self._unseen * squares * self.k / (self.k - 1))
        return self._by_student(scale * seen.total, error, seen.rows)

    def average(self, seen: Seen) -> Estimate:
        """The average over the domain in all rows."""
        if not seen.rows:
            return UNKNOWN
        mean = seen.total / seen.rows
        if self._is_all:
            return _exact(mean)
        error = None if seen.rows == 1 else math.sqrt(self._unseen * seen.variance / (seen.rows - 1))
        return self._by_student(mean, error, seen.rows)

    def share(self, hits: int, rows: int) -> Estimate:
        """The share of the hits in a domain, of which `rows` were drawn."""
        if not rows:
            return UNKNOWN
        p = hits / rows
        if self._is_all:
            return _exact(p)
        error = None if rows == 1 else math.sqrt(self._unseen * p * (1 - p) / (rows - 1))
        z2 = NormalDist().inv_cdf((1 + self.confidence) / 2) ** 2 * self._unseen * self.n / (self.n - 1)
        middle = (p + z2 / (2 * rows)) / (1 + z2 / rows)
        half = math.sqrt(z2 * (p * (1 - p) / rows + z2 / (4 * rows * rows))) / (1 + z2 / rows)
        low = max(0.0, middle - half) if hits else 0.0
        high = min(1.0, middle + half) if hits < rows else 1.0
        return Estimate(p, error, low, high)

    def count(self, hits: int) -> Estimate:
        """The number of the hits among all rows: at least those seen."""
        if self._is_all:
            return _exact(hits)
        share = self.share(hits, self.k)
        assert share.value is not None
        assert share.low is not None
        assert share.high is not None
        return Estimate(
            hits * (self.n / self.k),
            None if share.error is None else self.n * share.error,
            max(float(hits), self.n * share.low),
            min(float(self.n - (self.k - hits)), self.n * share.high),
        )

    @property
    def _is_all(self) -> bool:
        return self.k == self.n

    @property
    def _unseen(self) -> float:
        """The finite population correction."""
        return (self.n - self.k) / self.n

    def _by_student(self, value: float, error: float | None, rows: int) -> Estimate:
        if error is None:
            return Estimate(value, None, None, None)
        half = student((1 + self.confidence) / 2, max(1, rows - 1)) * error
        return Estimate(value, error, value - half, value + half)


def student(p: float, degrees: int) -> float:
    """The quantile of Student's law for a chance between 1/2 and 1.

    Exact for one and two degrees of freedom. From three on it is the expansion by powers of their
    inverse (Abramowitz and Stegun, 26.7.5), up to a confidence of 99 % less than 1 % off.
    """
    if degrees == 1:
        return math.tan(math.pi * (p - 0.5))
    if degrees == 2:
        return (2 * p - 1) / math.sqrt(2 * p * (1 - p))
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(degrees) ** power for power, term in enumerate(terms, start=1))


def _exact(value: float) -> Estimate:
    return Estimate(float(value), 0.0, float(value), float(value))
