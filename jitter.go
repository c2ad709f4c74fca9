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
// A delay is drawn from the whole nanoseconds low to high, both included, where an
// end above the largest Duration is cut to it. It takes one Uint64 u from
// Options.Source and is low + ⌊u·(high−low+1)/2⁶⁴⌋, which makes all of them equally
// likely to within one part in 2⁶⁴/(high−low+1). This will not change: a seed gives
// the same delays on every platform and in every release. Free failures draw
// nothing, nor does a Jitter whose ends are the same part of d, such as Fraction(0).
//
// A Jitter is safe for concurrent use by multiple goroutines.
type Jitter struct {
	kind      kind
	low, high float64 // the ends of between; 0 and f of fraction
}

type kind byte

const (
	exact kind = iota
	fraction
	between
)

// Fraction returns a jitter that draws from [d−x, d+x] for a delay d, where x is
// f·d to the nearest nanosecond. With an f outside [0, 1], the policy's constructor
// returns an error.
func Fraction(f float64) Jitter { return Jitter{fraction, 0, f + 0} } // -0 + 0 is 0

// Full returns a jitter that draws from [0, d] for a delay d. The name is from
// the AWS Architecture Blog, [Exponential Backoff And Jitter], which found that
// it makes competing clients do the least work.
//
// [Exponential Backoff And Jitter]: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
func Full() Jitter { return Between(0, 1) }

// Between returns a jitter that draws from [low·d, high·d] for a delay d, each to the
// nearest nanosecond. Between(0.5, 1) is what the AWS Architecture Blog calls equal
// jitter, Between(0.8, 1) never exceeds the ceiling, Between(1, 1.5) is never early.
// Unless 0 ≤ low ≤ high and both are finite, the policy's constructor returns an
// error.
func Between(low, high float64) Jitter { return Jitter{between, low + 0, high + 0} }

// validate reports the first fault in j. The makers of a Jitter return no error, so
// that one can stand in Options.
func (j Jitter) validate() error {
	if j.kind == fraction && !(j.high >= 0 && j.high <= 1) { // false for NaN
		return fmt.Errorf("backoff: jitter fraction outside [0, 1]: %v", j.high)
	}
	if !finite(j.low) {
		return fmt.Errorf("backoff: jitter low not finite: %v", j.low)
	}
	if !finite(j.high) {
		return fmt.Errorf("backoff: jitter high not finite: %v", j.high)
	}
	if j.low < 0 {
		return fmt.Errorf("backoff: negative jitter low %v", j.low)
	}
	if j.low > j.high {
		return fmt.Errorf("backoff: jitter low %v above high %v", j.low, j.high)
	}
	return nil
}

// String returns j as it stands in the text of a policy: "±20%", "full" or
// "between 0.5 and 1"; "none" for the zero Jitter. A fraction whose percentage
// would not read back as the same float64 stands as it is: "±0.3333333333333333".
func (j Jitter) String() string {
	if j == (Jitter{}) {
		return "none"
	}
	if j == Full() {
		return "full"
	}
	if j.kind == between {
		return fmt.Sprintf("between %v and %v", j.low, j.high)
	}
	percentage := fmt.Sprintf("%.15g%%", 100*j.high)
	if f, err := parseFraction(percentage); err == nil && f == j.high {
		return "±" + percentage
	}
	return fmt.Sprintf("±%v", j.high)
}

// parseJitter reads what String writes, "±" or not.
func parseJitter(text string) (Jitter, error) {
	switch text {
	case "none":
		return Jitter{}, nil
	case "full":
		return Full(), nil
	}
	if ends, ok := strings.CutPrefix(text, "between "); ok {
		first, second, _ := strings.Cut(ends, " and ")
		low, err := strconv.ParseFloat(first, 64)
		high, err2 := strconv.ParseFloat(second, 64)
		if err == nil && err2 == nil {
			return Between(low, high), nil
		}
	} else if f, err := parseFraction(strings.TrimPrefix(text, "±")); err == nil {
		return Fraction(f), nil
	}
	return Jitter{}, fmt.Errorf("invalid jitter %q", text)
}

// parseFraction reads a fraction or a percentage. A percentage is divided as a
// decimal: in floating point, 0.7/100 is not 0.007.
func parseFraction(text string) (float64, error) {
	number, percentage := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err == nil && percentage {
		f, err = strconv.ParseFloat(strconv.FormatFloat(f, 'f', -1, 64)+"e-2", 64)
	}
	return f, err
}

// An interval holds what to draw a delay from: width whole nanoseconds from low on.
// A width of 0 is low alone, and takes no draw.
type interval struct{ low, width uint64 }

// around returns the interval of j for the delay d.
func (j Jitter) around(d time.Duration) interval {
	low, high := d, d
	switch j.kind {
	case fraction:
		x := widen(j.high).of(d)
		low, high = d-x, d+min(x, math.MaxInt64-d)
	case between:
		low, high = widen(j.low).of(d), widen(j.high).of(d)
	}
	if j.low < j.high {
		return interval{uint64(low), uint64(high-low) + 1}
	}
	return interval{low: uint64(low)}
}

// pick returns the delay that the random number u stands for: the width is
// scaled by u/2⁶⁴, in 128 bits.
func (v interval) pick(u uint64) time.Duration {
	offset, _ := bits.Mul64(u, v.width)
	return time.Duration(v.low + offset)
}

// A source makes a rand.Source safe for concurrent use.
type source struct {
	mu  sync.Mutex
	src rand.Source
}

func (s *source) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock() // even if src panics
	return s.src.Uint64()
}
