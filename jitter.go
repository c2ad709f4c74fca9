package backoff

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Jitter spreads delays at random, so that clients which failed together do
// not come back together. [Fraction], [Full] and [Between] make one; the zero
// value leaves every delay as it is. The first delay is spread like the rest.
//
// A delay is drawn from the whole nanoseconds low to high of a range, all equally
// likely to within a relative (high−low+1)/2⁶⁴. A float64 argument stands for the
// shortest decimal that parses to it, cut after 18 places: 0.29 of 100 ns is
// 29 ns. An end above the largest Duration is cut to it.
//
// A jittered delay takes one Uint64 u from Options.Source and is
// low + ⌊u·(high−low+1)/2⁶⁴⌋ nanoseconds. This will not change: a seed gives the
// same delays on every platform and in every release. Free failures draw nothing,
// nor does a Jitter whose two ends are equal, such as Fraction(0).
//
// A Jitter is safe for concurrent use by multiple goroutines.
type Jitter struct {
	kind      kind
	low, high float64 // for between; fraction uses only high
}

type kind byte

const (
	exact kind = iota
	fraction
	between
)

// Fraction returns a jitter that draws from [(1−f)·d, (1+f)·d] for a delay d.
// With an f outside [0, 1], the policy's constructor returns an error.
func Fraction(f float64) Jitter { return Jitter{fraction, 0, f} }

// Full returns a jitter that draws from [0, d] for a delay d. The name is from
// the AWS Architecture Blog, [Exponential Backoff And Jitter], which found that
// it makes competing clients do the least work.
//
// [Exponential Backoff And Jitter]: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
func Full() Jitter { return Between(0, 1) }

// Between returns a jitter that draws from [low·d, high·d] for a delay d.
// Between(0.5, 1) is what the AWS Architecture Blog calls equal jitter,
// Between(0.8, 1) never exceeds the ceiling, Between(1, 1.5) is never early. If
// there is no whole nanosecond in the range, the delay is low·d rounded up.
// Unless 0 ≤ low ≤ high and both are finite, the policy's constructor returns an
// error.
func Between(low, high float64) Jitter { return Jitter{between, low, high} }

func (j Jitter) validate() error {
	if j.kind == fraction && !(j.high >= 0 && j.high <= 1) { // false for NaN
		return invalid("jitter fraction outside [0, 1]:", j.high)
	}
	if !finite(j.low) {
		return invalid("jitter low not finite:", j.low)
	}
	if !finite(j.high) {
		return invalid("jitter high not finite:", j.high)
	}
	if j.low < 0 {
		return invalid("negative jitter low", j.low)
	}
	if j.low > j.high {
		return invalid(fmt.Sprintf("jitter low %v above high", j.low), j.high)
	}
	return nil
}

// text is how j reads in the String of a policy.
func (j Jitter) text() string {
	if j.kind == fraction {
		return fmt.Sprintf("±%.15g%%", 100*j.high)
	}
	if j == Full() {
		return "full"
	}
	return fmt.Sprintf("between %v and %v", j.low, j.high)
}

// A spread is a Jitter made ready for use: the ends of the range as multiples
// of the delay.
type spread struct {
	low, high ratio
	draws     bool // low is below high
}

func (j Jitter) spread() spread {
	switch j.kind {
	case fraction:
		f := decimal(j.high)
		return spread{ratio{f.den - f.num, f.den}, ratio{f.den + f.num, f.den}, j.high > 0}
	case between:
		return spread{decimal(j.low), decimal(j.high), j.low < j.high}
	}
	return spread{low: ratio{1, 1}}
}

// An interval is the range of a delay: width whole nanoseconds from low on, or
// just low, without a draw, if width is 0.
type interval struct{ low, width uint64 }

// around returns the interval for the delay d.
func (s spread) around(d time.Duration) interval {
	low, cut := s.low.of(d)
	if cut {
		low++ // the first whole nanosecond in the range
	}
	if !s.draws {
		return interval{low: low}
	}
	high, _ := s.high.of(d)
	return interval{low, max(low, high) - low + 1}
}

// pick returns the delay that the random number u stands for: the width is
// scaled by u/2⁶⁴, in 128 bits.
func (v interval) pick(u uint64) time.Duration {
	offset, _ := bits.Mul64(u, v.width)
	return time.Duration(v.low + offset)
}

// A ratio is num/den. It holds a float64 as the decimal that someone wrote: in
// floating point 0.29·100 is 28.999…, and its whole part a nanosecond short.
type ratio struct{ num, den uint64 }

// decimal returns x as a ratio, for x ≥ 0. It leaves off what comes after the
// 18th decimal place, less than a nanosecond in 31 years, so that 1 + x fits too.
func decimal(x float64) ratio {
	whole, frac, _ := strings.Cut(strconv.FormatFloat(x, 'f', -1, 64), ".")
	frac = frac[:min(len(frac), 18)]
	num, _ := strconv.ParseUint(whole+frac, 10, 64) // saturates
	return ratio{num, uint64(math.Pow10(len(frac)))}
}

// of returns r·d in whole nanoseconds, no more than the largest Duration, and
// whether a part of a nanosecond was cut off.
func (r ratio) of(d time.Duration) (ns uint64, cut bool) {
	hi, lo := bits.Mul64(r.num, uint64(d))
	if hi >= r.den {
		return math.MaxInt64, false
	}
	ns, rest := bits.Div64(hi, lo, r.den)
	if ns >= math.MaxInt64 {
		return math.MaxInt64, false
	}
	return ns, rest > 0
}

// A source makes a rand.Source safe for concurrent use.
type source struct {
	mu  sync.Mutex
	src rand.Source
}

func (s *source) Uint64() uint64 {
	s.mu.Lock()
	u := s.src.Uint64()
	s.mu.Unlock() // no defer, which would cost a quarter of a draw
	return u
}
