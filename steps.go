package backoff

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"time"
)

// Exponential returns a policy whose delays start at base and grow by factor:
// base·factorⁿ⁻¹ after the n-th counted failure, worked out in 128 bits and
// rounded to the nearest nanosecond. Before jitter they never fall as the attempt
// grows.
//
// It returns an error if base is negative, if factor is not finite or below 1,
// if opts.Max is above 0 and below base, or if opts are invalid.
func Exponential(base time.Duration, factor float64, opts Options) (Policy, error) {
	if !finite(factor) {
		return nil, fmt.Errorf("backoff: factor not finite: %v", factor)
	}
	if factor < 1 {
		return nil, fmt.Errorf("backoff: factor below 1: %v", factor)
	}
	if err := opts.validateFirst("base", base); err != nil {
		return nil, err
	}
	c := exponential{base, factor}
	return newSchedule(c, levelOf(c, opts.ceiling()), opts)
}

type exponential struct {
	base   time.Duration
	factor float64
}

func (c exponential) at(i int) time.Duration { return power(c.factor, i).of(c.base) }
func (c exponential) String() string         { return fmt.Sprintf("exponential %v ×%v", c.base, c.factor) }

// power returns xⁿ, or something of at least 2⁶³ if that is as much, for x ≥ 1.
// It goes through the bits of n after the first: square, and multiply where the
// bit is set.
//
// At most 2n times a product's loss adds up: after 2³⁰ attempts, and at the largest
// Duration, 2⁻³⁰ ns. So a delay is the nearest nanosecond unless it is that close
// to a half. An exact half is exact here, for its factors fit in hi. Nor do
// delays fall: the smallest factor above 1, 1+2⁻⁵², reaches the largest Duration
// in under 2⁵⁸ attempts, and by then at most 2⁻⁶⁵ is lost.
func power(x float64, n int) wide {
	if n == 0 {
		return widen(1)
	}
	factor := widen(x)
	p := factor
	for i := bits.Len(uint(n)) - 2; i >= 0 && p.exp < 63; i-- {
		p = p.times(p)
		if n>>i&1 == 1 {
			p = p.times(factor)
		}
	}
	return p
}

// Linear returns a policy whose delays start at base and grow by step:
// base + step·(n−1) after the n-th counted failure, exactly. Before jitter they
// never fall as the attempt grows.
//
// It returns an error if base or step is negative, if opts.Max is above 0 and
// below base, or if opts are invalid.
func Linear(base, step time.Duration, opts Options) (Policy, error) {
	if step < 0 {
		return nil, fmt.Errorf("backoff: negative step %v", step)
	}
	if err := opts.validateFirst("base", base); err != nil {
		return nil, err
	}
	c := linear{base, step}
	return newSchedule(c, levelOf(c, opts.ceiling()), opts)
}

type linear struct{ base, step time.Duration }

func (c linear) at(i int) time.Duration { return climb(c.base, c.step, i) }
func (c linear) String() string         { return fmt.Sprintf("linear %v +%v", c.base, c.step) }

// climb returns base + step·n, or the largest Duration if that is more.
func climb(base, step time.Duration, n int) time.Duration {
	hi, lo := bits.Mul64(uint64(step), uint64(n))
	sum, carry := bits.Add64(lo, uint64(base), 0)
	if hi+carry > 0 {
		return math.MaxInt64
	}
	return time.Duration(min(sum, math.MaxInt64))
}

// Constant returns a policy with the same delay after every counted failure.
//
// It returns an error if delay is negative, if opts.Max is above 0 and below
// delay, or if opts are invalid.
func Constant(delay time.Duration, opts Options) (Policy, error) {
	if err := opts.validateFirst("delay", delay); err != nil {
		return nil, err
	}
	return newSchedule(constant(delay), 0, opts)
}

type constant time.Duration

func (c constant) at(int) time.Duration { return time.Duration(c) }
func (c constant) String() string       { return fmt.Sprintf("constant %v", time.Duration(c)) }

// Stepped returns a policy that reads its delays from a list: delays[n-1] after
// the n-th counted failure, and the last of them past the end. The list is
// copied. Delays above opts.Max are cut to it.
//
// It returns an error if delays is empty or holds a negative delay, or if opts
// are invalid.
func Stepped(delays []time.Duration, opts Options) (Policy, error) {
	if len(delays) == 0 {
		return nil, errors.New("backoff: delays is empty")
	}
	for i, d := range delays {
		if d < 0 {
			return nil, fmt.Errorf("backoff: negative delays[%d] %v", i, d)
		}
	}
	return newSchedule(stepped(slices.Clone(delays)), len(delays)-1, opts)
}

type stepped []time.Duration

func (c stepped) at(i int) time.Duration { return c[i] } // i never exceeds the level

func (c stepped) String() string {
	list := fmt.Sprint([]time.Duration(c))
	return "stepped " + strings.Trim(list, "[]")
}

// Custom returns a policy whose delay after the n-th counted failure, counting
// from 1, is curve(n), or 0 if that is negative. Delay and At call curve once
// for a counted failure, in the caller's goroutine, so curve must be safe for
// concurrent use if the policy is shared.
//
// It returns an error if curve is nil or if opts are invalid.
func Custom(curve func(n int) time.Duration, opts Options) (Policy, error) {
	if curve == nil {
		return nil, errors.New("backoff: curve is nil")
	}
	return newSchedule(custom(curve), never, opts)
}

type custom func(n int) time.Duration

func (c custom) at(i int) time.Duration { return max(c(i+1), 0) }
func (c custom) String() string         { return "custom" }

// levelOf returns the index at which c, which must never fall, meets the
// ceiling, or from which it rises no more.
func levelOf(c curve, ceiling time.Duration) int {
	const last = math.MaxInt - 1 // that Delay can ask for
	top := min(c.at(last), ceiling)
	there := func(i int) bool { return c.at(i) >= top }
	if i := sort.Search(tableSize, there); i < tableSize { // as most do, after few probes
		return i
	}
	return sort.Search(last, there)
}
