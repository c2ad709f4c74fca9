package backoff

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Parse reads a policy from one line of text, as the policies of this package
// print:
//
//	exponential 15s ×2, max 12h, free 3, jitter ±20%
//	linear 1 second +500 milliseconds, max 1 minute
//	constant 5s, jitter full
//	stepped 15s 1m 5m 2h, jitter between 0.8 and 1
//
// The schedule comes first, then any of max, free and jitter, in any order, with
// commas between. One left out is zero: no ceiling, no free failures, no jitter. White
// space of any kind and length counts as one space. Durations are what
// [ParseDuration] reads; those of stepped have no spaces in them. An x may stand for
// ×, ± may be left out, and a jitter may be a fraction, such as 0.2.
//
// A policy of Exponential, Linear, Constant or Stepped without a Source reads back
// as the same policy, to the last bit. The error quotes the text and says what is
// wrong with it, be it the words or, as the constructors do, the numbers.
func Parse(text string) (Policy, error) {
	p, err := parse(text)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "backoff: ")
		return nil, fmt.Errorf("backoff: %s in policy %q", reason, text)
	}
	return p, nil
}

// parse splits text into a schedule and its options. Its errors are the faults alone,
// without the text, or those of ParseDuration and the constructors.
func parse(text string) (Policy, error) {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		parts[i] = strings.Join(strings.Fields(part), " ")
	}
	kind, words, _ := strings.Cut(parts[0], " ")
	var read func(words string, opts Options) (Policy, error)
	switch kind {
	case "exponential":
		read = parseExponential
	case "linear":
		read = parseLinear
	case "constant":
		read = parseConstant
	case "stepped":
		read = parseStepped
	default:
		return nil, fmt.Errorf("unknown schedule %q (want exponential, linear, constant or stepped)", kind)
	}
	opts, err := parseOptions(parts[1:])
	if err != nil {
		return nil, err
	}
	return read(words, opts)
}

// A Config is a [Policy] for configuration structs and flags. It is an
// encoding.TextMarshaler and encoding.TextUnmarshaler, so that encoding/json,
// flag.TextVar and other decoders that know these read it with [Parse], and write
// it as its Policy prints. In a YAML flow mapping, {…}, quote it, as it has commas.
//
// The zero value has no Policy, and its Delay panics: set a default before decoding,
// or give flag.TextVar one. A Config is safe to use, but not to decode into, from
// multiple goroutines.
type Config struct{ Policy }

// MarshalText returns the text of c's Policy, which is empty for nil. The policies of
// this package all have one; for another that is no encoding.TextMarshaler, it
// returns an error.
func (c Config) MarshalText() ([]byte, error) {
	if c.Policy == nil {
		return []byte{}, nil // some encoders take nil for a fault
	}
	if m, ok := c.Policy.(encoding.TextMarshaler); ok {
		return m.MarshalText()
	}
	return nil, fmt.Errorf("backoff: no text for a policy of type %T", c.Policy)
}

// UnmarshalText sets c's Policy to what [Parse] makes of text. If that is an error,
// as for empty text and for the text of a [Custom] policy or of one with a Source, it
// is returned, and c stays as it was.
func (c *Config) UnmarshalText(text []byte) error {
	p, err := Parse(string(text))
	if err == nil {
		c.Policy = p
	}
	return err
}

// Exponential returns a policy whose delays start at base and grow by factor:
// base·factorⁿ⁻¹ after the n-th counted failure, rounded to the nanosecond. Before
// jitter they never fall as the attempt grows.
//
// It returns an error if base is not above 0, which would never wait, if factor is
// not finite or below 1, if opts.Max is above 0 and below base, or if opts are
// invalid.
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
	if base == 0 {
		return nil, fmt.Errorf("backoff: base not above 0: %v", base)
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

// parseExponential reads what String writes after the first word, as the parser of
// each schedule does.
func parseExponential(words string, opts Options) (Policy, error) {
	words = " " + words // so that the factor is found where the base is missing
	first, number, ok := strings.Cut(words, " ×")
	if !ok {
		first, number, ok = strings.Cut(words, " x")
	}
	if !ok {
		return nil, errors.New("missing factor")
	}
	base, err := ParseDuration(strings.TrimSpace(first))
	if err != nil {
		return nil, err
	}
	number = strings.TrimSpace(number)
	factor, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return nil, fmt.Errorf("invalid factor %q", number)
	}
	return Exponential(base, factor, opts)
}

// power returns xⁿ, or something of at least 2⁶³ if that is as much, for x ≥ 1.
// It goes through the bits of n after the first: square, and multiply where the
// bit is set.
//
// Each product loses less than 2⁻¹²⁴ of itself, and xⁿ as much as 2n of them. After
// 2³⁰ attempts that is 2⁻³⁰ ns at most, so only a delay that close to a half
// nanosecond can be rounded the wrong way; one at the half has so few bits that no
// product loses any. Nor do delays fall: even 1+2⁻⁵², the smallest factor above 1,
// reaches the largest Duration in under 2⁵⁸ attempts, with a loss below 2⁻⁶⁵, far
// less than a step of that factor.
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
// It returns an error if base or step is negative, if both are 0, which would never
// wait, if opts.Max is above 0 and below base, or if opts are invalid.
func Linear(base, step time.Duration, opts Options) (Policy, error) {
	if step < 0 {
		return nil, fmt.Errorf("backoff: negative step %v", step)
	}
	if err := opts.validateFirst("base", base); err != nil {
		return nil, err
	}
	if base == 0 && step == 0 {
		return nil, fmt.Errorf("backoff: base and step both %v", base)
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

func parseLinear(words string, opts Options) (Policy, error) {
	first, growth, ok := strings.Cut(words, " +")
	if !ok {
		return nil, errors.New("missing step")
	}
	base, err := ParseDuration(first)
	if err != nil {
		return nil, err
	}
	step, err := ParseDuration(growth)
	if err != nil {
		return nil, err
	}
	return Linear(base, step, opts)
}

// validateFirst reports a first delay, named as the constructor's argument, that
// is negative or above Max.
func (o Options) validateFirst(name string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("backoff: negative %s %v", name, d)
	}
	if 0 < o.Max && o.Max < d {
		return fmt.Errorf("backoff: %s %v above Max %v", name, d, o.Max)
	}
	return nil
}

// rise returns how many delays c, which must never fall, has before it stays level at
// its highest or at the ceiling, that one included; or tableSize+1 if they are more
// than a table holds. A negative ceiling gives 1, and newSchedule then refuses it.
func rise(c curve, ceiling time.Duration) int {
	highest := min(c.at(math.MaxInt-1), ceiling) // the delay of attempt math.MaxInt
	return 1 + sort.Search(tableSize, func(i int) bool { return c.at(i) >= highest })
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

func parseConstant(words string, opts Options) (Policy, error) {
	delay, err := ParseDuration(words)
	if err != nil {
		return nil, err
	}
	return Constant(delay, opts)
}

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
	return "stepped " + list[1:len(list)-1] // without the brackets
}

// parseStepped splits at spaces, so a delay cannot have any.
func parseStepped(words string, opts Options) (Policy, error) {
	var delays []time.Duration
	for _, word := range strings.Fields(words) {
		d, err := ParseDuration(word)
		if err != nil {
			return nil, err
		}
		delays = append(delays, d)
	}
	return Stepped(delays, opts)
}

// Custom returns a policy whose delay after the n-th counted failure, counting
// from 1, is curve(n), or 0 if that is negative. Delay and At call curve once
// for a counted failure, in the caller's goroutine, so curve must be safe for
// concurrent use if the policy is shared. A product or a sum that may overflow is
// for curve to guard: once wrapped, it may be any delay.
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
