package backoff

import (
	"math"
	"math/bits"
	"strings"
	"time"
)

const digits = "0123456789"

// RetryAfter reads the value of an HTTP Retry-After field (RFC 9110, section
// 10.2.3) and returns how long to wait from now on: never less than 0, and no
// more than the largest Duration. The value is a decimal number of seconds,
// with a fraction if the server likes, or one of the three forms of HTTP-date
// (section 5.6.7). For a date gone by the result is 0, true; for a value of any
// other form, or none, it is 0, false.
func RetryAfter(value string, now time.Time) (time.Duration, bool) {
	if whole, frac, point := strings.Cut(value, "."); isDigits(whole) && (isDigits(frac) || !point) {
		d, err := time.ParseDuration(value + "s")
		if err != nil { // more seconds than a Duration holds
			d = math.MaxInt64
		}
		return d, true
	}
	date, ok := parseDate(value, now)
	if !ok {
		return 0, false
	}
	return max(date.Sub(now), 0), true
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, digits) == "" }

// parseDate reads an HTTP-date. time.Parse alone would take much else for one.
func parseDate(value string, now time.Time) (time.Time, bool) {
	forms := []struct{ weekday, layout string }{
		{"Mon,", "02 Jan 2006 15:04:05 GMT"},  // IMF-fixdate
		{"Monday,", "02-Jan-06 15:04:05 GMT"}, // rfc850-date
		{"Mon", "Jan _2 15:04:05 2006"},       // asctime-date…
		{"Mon", "Jan 02 15:04:05 2006"},       // …which may fill the day with 0 too
	}
	weekday, rest, _ := strings.Cut(value, " ")
	day := strings.Replace(rest, "23:59:60", "23:59:59", 1) // a leap second
	for _, form := range forms {
		date, err := time.Parse(form.layout, day)
		if err != nil || date.Format(form.layout) != day || !isWeekday(weekday, form.weekday) {
			continue
		}
		if form.weekday == "Monday," {
			date = inCentury(date, now)
		}
		if day != rest {
			date = date.Add(time.Second)
		}
		return date, true
	}
	return time.Time{}, false
}

// isWeekday reports whether s is the name of a day under layout. It need not be
// the right one for the date.
func isWeekday(s, layout string) bool {
	for i := range 7 {
		if time.Unix(0, 0).UTC().AddDate(0, 0, i).Format(layout) == s {
			return true
		}
	}
	return false
}

// inCentury moves a date with a two-digit year to the century that RFC 9110
// asks for: the latest in which it is no more than 50 years ahead of now.
func inCentury(date, now time.Time) time.Time {
	limit := now.UTC().AddDate(50, 0, 0)
	date = date.AddDate(limit.Year()-date.Year()-(limit.Year()-date.Year())%100, 0, 0)
	if date.After(limit) {
		date = date.AddDate(-100, 0, 0)
	}
	return date
}

// climb returns base + step·n, or the largest Duration if that is more.
func climb(base, step time.Duration, n int) time.Duration {
	hi, lo := bits.Mul64(uint64(step), uint64(n))
	sum, carry := bits.Add64(lo, uint64(base), 0)
	if hi+carry > 0 {
		return math.MaxInt64
	}
	return time.Duration(min(sum, math.MaxInt64))
}

// grow returns base·factorⁿ to the nearest nanosecond, or the largest Duration
// if that is more, for factor ≥ 1.
func grow(base time.Duration, factor float64, n int) time.Duration {
	if base == 0 {
		return 0 // even times ∞
	}
	zeros := bits.LeadingZeros64(uint64(base))
	product := power(factor, n).times(wide{uint64(base) << zeros, 0, 63 - zeros})
	if product.exp >= 63 {
		return math.MaxInt64
	}
	halves := product.hi >> (62 - product.exp)
	return time.Duration(min(halves/2+halves%2, math.MaxInt64))
}

// power returns xⁿ, or something of at least 2⁶³ if that is as much, for x ≥ 1.
func power(x float64, n int) wide {
	frac, exp := math.Frexp(x)
	factor := wide{uint64(frac*(1<<53)) << 11, 0, exp - 1}
	p := wide{1 << 63, 0, 0}
	for i := bits.Len(uint(n)) - 1; i >= 0 && p.exp < 63; i-- {
		p = p.times(p)
		if n>>i&1 == 1 {
			p = p.times(factor)
		}
	}
	return p
}

// A wide is a number of 128 bits, hi before lo, of which the first is set and
// stands for 2^exp. A float64 would not do: each product of a power is rounded,
// and what is lost multiplies with the power. With 128 bits, even the power that
// takes the smallest factor to 2⁶³ is right to 2⁻⁶⁶ of itself: delays that should
// rise do, and only one in 2⁶⁴ or so that lies next to a half can be
// rounded the wrong way. As no bit is beyond 64 in the factors of an exact half, these are
// exact.
type wide struct {
	hi, lo uint64
	exp    int
}

func (a wide) times(b wide) wide {
	hi, lo := bits.Mul64(a.hi, b.hi)
	x, _ := bits.Mul64(a.hi, b.lo)
	y, _ := bits.Mul64(a.lo, b.hi)
	lo, carry := bits.Add64(lo, x, 0)
	hi += carry
	lo, carry = bits.Add64(lo, y, 0)
	hi += carry
	if hi>>63 == 1 {
		return wide{hi, lo, a.exp + b.exp + 1}
	}
	return wide{hi<<1 | lo>>63, lo << 1, a.exp + b.exp}
}
