package backoff

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
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
	return newSchedule(c, rise(c, opts.ceiling()), opts)
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
	return newSchedule(c, rise(c, opts.ceiling()), opts)
}

type linear struct{ base, step time.Duration }

// at saturates: it compares before it multiplies.
func (c linear) at(i int) time.Duration {
	if c.step > 0 && time.Duration(i) > (math.MaxInt64-c.base)/c.step {
		return math.MaxInt64
	}
	return c.base + c.step*time.Duration(i)
}

func (c linear) String() string { return fmt.Sprintf("linear %v +%v", c.base, c.step) }

// rise returns how many delays c, which never falls, takes to reach its highest
// under the ceiling, or more than a table holds.
func rise(c curve, ceiling time.Duration) int {
	highest := min(c.at(math.MaxInt-1), ceiling) // the last that Delay can ask for
	n := 1
	for n <= tableSize && c.at(n-1) < highest {
		n++
	}
	return n
}

// Constant returns a policy with the same delay after every counted failure.
//
// It returns an error if delay is negative, if opts.Max is above 0 and below
// delay, or if opts are invalid.
func Constant(delay time.Duration, opts Options) (Policy, error) {
	if err := opts.validateFirst("delay", delay); err != nil {
		return nil, err
	}
	return newSchedule(constant(delay), 1, opts)
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
	return newSchedule(stepped(slices.Clone(delays)), len(delays), opts)
}

type stepped []time.Duration

func (c stepped) at(i int) time.Duration { return c[min(i, len(c)-1)] }

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
	return newSchedule(custom(curve), 0, opts)
}

type custom func(n int) time.Duration

func (c custom) at(i int) time.Duration { return max(c(i+1), 0) }
func (c custom) String() string         { return "custom" }
