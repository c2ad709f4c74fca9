// Package backoff computes how long to wait before a retry. A [Policy], made by
// [Exponential], [Linear], [Constant], [Stepped] or [Custom], or read by [Parse],
// answers one question: after this many failures, how long until the next try?
// [Options] add free failures, a ceiling and jitter. What counts as a failure, and
// when to give up, is left to the caller's loop:
//
//	var failed error // every attempt's error: the last may only say that ctx ended
//	for attempt := 1; ; attempt++ {
//		err := send(ctx)
//		if err == nil {
//			return nil
//		}
//		failed = errors.Join(failed, err)
//		if attempt == 5 {
//			return errors.Join(failed, ctx.Err())
//		}
//		if stop := backoff.Sleep(ctx, policy.Delay(attempt)); stop != nil {
//			return errors.Join(failed, stop)
//		}
//	}
package backoff

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A Policy tells how long to wait before the next try.
//
// The policies of this package hold no count of attempts. In fmt, log/slog and
// encoding/json they print as one line, which [Parse] reads unless it is that of
// [Custom] or names a Source, such as
//
//	exponential 15s ×2, max 12h0m0s, free 3, jitter ±20%
//
// They are safe for concurrent use by multiple goroutines.
//
// A Policy of your own that wraps one of these must define both methods: the At
// of an embedded Policy calls its own Delay, not yours.
type Policy interface {
	// Delay returns how long to wait after attempt failures, counting from 1:
	// for a count from 0, call Delay(n+1). It is never negative, and is 0 if
	// attempt is below 1 or not above Options.Free. Without a Max it may be the
	// largest Duration: cut it with min before adding to it. Each call draws its
	// own jitter.
	Delay(attempt int) time.Duration

	// At returns now.Add(Delay(attempt)): the time of the next try, for
	// callers that store it rather than wait. It reads no clock and keeps
	// now's location.
	At(attempt int, now time.Time) time.Time
}

// Options adjust a schedule. The zero value leaves it as it is: no ceiling, no
// free failures, no jitter. Every constructor returns an error for a negative
// Max or Free, or a Jitter out of its range.
type Options struct {
	// Max is the ceiling of the delays before jitter, so that retries which
	// wait at the ceiling still spread out. With Fraction(0.2) a delay can
	// exceed Max by 20 %; with Full and Between(x, 1) none ever does.
	// Zero means no ceiling but the largest Duration, about 292 years.
	//
	// A Max below the first delay of Exponential, Linear or Constant is an
	// error. Where that delay comes from elsewhere, such as a server, pass the
	// constructor min(base, max).
	Max time.Duration

	// Free is how many failures have no wait. Those after them are the counted
	// failures: attempt Free+1 gets the schedule's first delay. To lock an
	// account at the N-th failure, set Free to N−1.
	Free int

	// Jitter spreads the delays at random. Zero means exact delays.
	Jitter Jitter

	// Source is where jitter draws its random numbers. A seeded one repeats
	// the delays on every platform. The policy guards it with a lock of its
	// own, so it must not be used elsewhere, not even by another policy. Nil
	// means the top-level generator of math/rand/v2, which needs no seed and
	// no lock.
	Source rand.Source
}

// validate reports the first fault in o.
func (o Options) validate() error {
	if o.Max < 0 {
		return fmt.Errorf("backoff: negative Max %v", o.Max)
	}
	if o.Free < 0 {
		return fmt.Errorf("backoff: negative Free %v", o.Free)
	}
	return o.Jitter.validate()
}

// ceiling returns Max, or the largest Duration where there is none.
func (o Options) ceiling() time.Duration {
	if o.Max == 0 {
		return math.MaxInt64
	}
	return o.Max
}

// Must returns p if err is nil and panics with err otherwise. It is for
// policies made from constants, in variable declarations and tests.
func Must(p Policy, err error) Policy {
	if err != nil {
		panic(err)
	}
	return p
}

// A curve computes the delays of one kind of schedule, before Options.
type curve interface {
	at(i int) time.Duration // the i-th delay, from 0; never negative
	fmt.Stringer
}

// A schedule is the Policy that every constructor returns: a curve under
// Options.
type schedule struct {
	table  []interval // of the first delays
	level  *interval  // of all delays after the table; nil if they differ
	curve  curve
	opts   Options
	source *source // nil for the top-level generator
}

const tableSize = 64 // intervals in a table, at most: 1 KiB

// newSchedule returns a schedule of c under opts. n is how many delays it takes to
// become level: all after the n-th, once cut to opts.Max, are equal to it. If n is
// above tableSize, the first tableSize go into the table; if n is 0, none does, and c
// is called from Delay alone.
func newSchedule(c curve, n int, opts Options) (Policy, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &schedule{curve: c, opts: opts}
	if opts.Source != nil {
		s.source = &source{src: opts.Source}
	}
	s.table = make([]interval, min(n, tableSize))
	for i := range s.table {
		s.table[i] = s.intervalAt(i)
	}
	if 0 < n && n <= tableSize {
		s.level = &s.table[n-1]
	}
	return s, nil
}

// intervalAt computes an interval of the table, or one beyond it. The ceiling comes
// before jitter, or it would undo the jitter of what exceeds it.
func (s *schedule) intervalAt(i int) interval {
	return s.opts.Jitter.around(min(s.curve.at(i), s.opts.ceiling()))
}

func (s *schedule) Delay(attempt int) time.Duration {
	if attempt <= s.opts.Free {
		return 0
	}
	var v interval
	if i := attempt - s.opts.Free - 1; uint(i) < uint(len(s.table)) { // unsigned, to check bounds once
		v = s.table[i]
	} else if s.level != nil {
		v = *s.level
	} else {
		v = s.intervalAt(i)
	}
	if v.width == 0 {
		return time.Duration(v.low)
	}
	if s.source == nil {
		return v.pick(rand.Uint64())
	}
	return v.pick(s.source.Uint64())
}

func (s *schedule) At(attempt int, now time.Time) time.Time {
	return now.Add(s.Delay(attempt))
}

func (s *schedule) String() string {
	var b strings.Builder
	b.WriteString(s.curve.String())
	if s.opts.Max != 0 {
		fmt.Fprintf(&b, ", max %v", s.opts.Max)
	}
	if s.opts.Free != 0 {
		fmt.Fprintf(&b, ", free %d", s.opts.Free)
	}
	if s.opts.Jitter != (Jitter{}) {
		fmt.Fprintf(&b, ", jitter %v", s.opts.Jitter)
	}
	if s.opts.Source != nil {
		fmt.Fprintf(&b, ", source %T", s.opts.Source)
	}
	return b.String()
}

func (s *schedule) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// parseOptions reads the options that String writes, each from a text of its own.
func parseOptions(texts []string) (Options, error) {
	var opts Options
	seen := make(map[string]bool)
	for _, text := range texts {
		name, value, _ := strings.Cut(text, " ")
		if seen[name] {
			return Options{}, fmt.Errorf("repeated option %q", name)
		}
		seen[name] = true
		var err error
		switch name {
		case "max":
			opts.Max, err = ParseDuration(value)
		case "free":
			if opts.Free, err = strconv.Atoi(value); err != nil {
				err = fmt.Errorf("invalid free %q", value)
			}
		case "jitter":
			opts.Jitter, err = parseJitter(value)
		case "":
			err = errors.New("missing option")
		default:
			err = fmt.Errorf("unknown option %q", name)
		}
		if err != nil {
			return Options{}, err
		}
	}
	return opts, nil
}

// Sleep waits for d and returns nil, at once if d ≤ 0. A loop must end on its error:
// one that goes on would try again without a pause. A done ctx is an error even if
// there is nothing to wait for.
//
// If ctx is done, before the call or before the wait is over, Sleep returns an error
// that matches both ctx.Err() and [context.Cause] of ctx under [errors.Is]. If ctx has
// a deadline that is not after the end of the wait, Sleep does not begin to wait, and
// the error matches [context.DeadlineExceeded]. Return that error, not ctx.Err(),
// which may still be nil; a cause set with the deadline is not known yet. A nil ctx
// is an error too.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx == nil {
		return errors.New("backoff: ctx is nil")
	}
	if err := done(ctx); err != nil {
		return err
	}
	d = max(d, 0)
	if deadline, ok := ctx.Deadline(); ok && !deadline.After(time.Now().Add(d)) {
		return fmt.Errorf("backoff: wait of %v would pass the deadline: %w", d, context.DeadlineExceeded)
	}
	select {
	case <-time.After(d): // since Go 1.23, collected even if it has not fired
	case <-ctx.Done():
	}
	return done(ctx) // both may be ready, and select takes either
}

// done returns why ctx is done, or nil if it is not.
func done(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
