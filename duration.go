package backoff

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a duration as people write it: "15 seconds",
// "1 hour 30 minutes", "1.5 days", "2w".
//
// It reads all that [time.ParseDuration] reads, with the same result: a sign if
// need be, then one or more decimal numbers, each with a unit, or a bare 0.
// Beyond that,
//   - a unit may be d for days of 24 hours or w for weeks of 7 days;
//   - a unit may be a word, from nanosecond to week, or sec, min or hr, singular or
//     plural;
//   - a space may precede a unit, any number of spaces may separate terms, and
//     white space may surround the whole.
//
// There are no months or years, whose length varies, no other abbreviations and
// no capitals. The error quotes the text and says what is wrong with it: a
// missing number or unit, an unknown unit, or more than a Duration can hold. The
// last includes the few sums that time.ParseDuration lets wrap.
func ParseDuration(text string) (time.Duration, error) {
	rest, sign := strings.TrimSpace(text), ""
	if rest != "" && strings.Contains("+-", rest[:1]) {
		sign, rest = rest[:1], rest[1:]
	}
	if rest == "0" {
		return 0, nil
	}
	var sum time.Duration
	for {
		term, tail, err := cutTerm(rest, sign)
		if err == nil && (sum+term < sum) != (term < 0) { // the sum has wrapped
			err = errors.New("overflow")
		}
		if err != nil {
			return 0, fmt.Errorf("backoff: %v in duration %q", err, text)
		}
		sum, rest = sum+term, strings.TrimLeft(tail, " ")
		if rest == "" {
			return sum, nil
		}
	}
}

// cutTerm cuts a number and its unit off the front of s. They take the sign here, as
// −2⁶³ ns has no positive. The error says what is wrong with them.
func cutTerm(s, sign string) (term time.Duration, rest string, err error) {
	number, rest := cutNumber(s)
	if number == "" {
		return 0, "", errors.New("missing number")
	}
	name, rest := cutAny(strings.TrimPrefix(rest, " "), " ."+digits)
	if name == "" {
		return 0, "", errors.New("missing unit")
	}
	unit, times := unitOf(name)
	if times == 0 {
		return 0, "", fmt.Errorf("unknown unit %q (%s)", name, units)
	}
	term, err = time.ParseDuration(sign + multiply(number, times) + unit)
	if err != nil {
		return 0, "", errors.New("overflow")
	}
	return term, rest, nil
}

const digits = "0123456789" // as strconv and the RFC know them: no others of Unicode

// cutNumber cuts a decimal number of at least one digit off the front of s.
func cutNumber(s string) (number, rest string) {
	rest = strings.TrimLeft(s, digits)
	if strings.HasPrefix(rest, ".") {
		rest = strings.TrimLeft(rest[1:], digits)
	}
	number = s[:len(s)-len(rest)]
	if number == "." {
		return "", s
	}
	return number, rest
}

// cutAny cuts s before the first of the characters.
func cutAny(s, characters string) (before, rest string) {
	if i := strings.IndexAny(s, characters); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

const units = "want ns, us, ms, s, sec, m, min, h, hr, d, w, or a word from nanosecond to week"

// unitOf returns a unit as a multiple of one that time.ParseDuration knows; times
// is 0 if there is no such unit.
func unitOf(name string) (unit string, times int) {
	switch name {
	case "ns", "nanosecond", "nanoseconds":
		return "ns", 1
	case "us", "µs", "μs", "microsecond", "microseconds": // both the micro sign and mu
		return "us", 1
	case "ms", "millisecond", "milliseconds":
		return "ms", 1
	case "s", "sec", "secs", "second", "seconds":
		return "s", 1
	case "m", "min", "mins", "minute", "minutes":
		return "m", 1
	case "h", "hr", "hrs", "hour", "hours":
		return "h", 1
	case "d", "day", "days":
		return "h", 24
	case "w", "week", "weeks":
		return "h", 7 * 24
	}
	return "", 0
}

// multiply multiplies a decimal number of any length, digit by digit, so that
// nothing is rounded and nothing overflows. The point stays where it is.
func multiply(number string, times int) string {
	product, carry := []byte(number), 0
	for i, c := range slices.Backward(product) {
		if c != '.' {
			carry += int(c-'0') * times
			product[i] = byte('0' + carry%10)
			carry /= 10
		}
	}
	return strconv.Itoa(carry) + string(product)
}

// A Duration is a [time.Duration] for configuration structs and flags. It is an
// encoding.TextMarshaler and encoding.TextUnmarshaler, so that encoding/json,
// flag.TextVar and other decoders that know these read it with [ParseDuration],
// and write it as time.Duration prints. It holds a time.Duration rather than
// being one, so that a bare 15 is an error and not 15 nanoseconds. The zero value
// is 0s. A Duration is safe to read, but not to write, from multiple goroutines.
type Duration struct{ time.Duration }

// MarshalText returns d as [time.Duration.String] does. The error is nil.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText sets d to what [ParseDuration] makes of text. If that is an
// error it is returned, and d stays as it was.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := ParseDuration(string(text))
	if err == nil {
		d.Duration = parsed
	}
	return err
}

// RetryAfter reads the value of an HTTP Retry-After field ([RFC 9110], section
// 10.2.3) and returns how long to wait from now on, never less than 0. It may be the
// largest Duration: give up, or bound it with min, before adding to it. Wait a
// policy's delay on top, so that clients which were asked the same still spread.
//
// The value is a decimal number of seconds, where a fraction is accepted too, as
// some servers send one, or any of the three forms of HTTP-date (section 5.6.7). Two
// of these end in GMT, and no other zone is accepted; the third has no zone. A date is
// by the clock of the server: where that may differ, pass the Date field of its
// response as now. The day of the week is not compared with the date, and a date gone
// by is 0, true. Spaces and tabs around the value are no part of it (section 5.5). For
// an empty value, and for any other, the result is 0, false.
//
// [RFC 9110]: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
func RetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	if isDecimal(value) {
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

func isDecimal(s string) bool {
	whole, frac, point := strings.Cut(s, ".")
	return isDigits(whole) && (isDigits(frac) || !point)
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, digits) == "" }

// parseDate reads an HTTP-date and nothing else; time.Parse is laxer.
func parseDate(value string, now time.Time) (time.Time, bool) {
	const (
		short = "Sun Mon Tue Wed Thu Fri Sat"
		long  = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday"
	)
	forms := []struct{ weekdays, layout string }{
		{short, ", 02 Jan 2006 15:04:05 GMT"}, // IMF-fixdate
		{long, ", 02-Jan-06 15:04:05 GMT"},    // rfc850-date
		{short, " Jan _2 15:04:05 2006"},      // asctime-date…
		{short, " Jan 02 15:04:05 2006"},      // …which may fill the day with 0 too
	}
	weekday, rest := cutAny(value, ", ")                     // need not be that of the date
	text := strings.Replace(rest, "23:59:60", "23:59:59", 1) // a leap second
	leap := time.Duration(0)
	if text != rest {
		leap = time.Second
	}
	for _, form := range forms {
		date, err := time.Parse(form.layout, text)
		if err != nil || date.Format(form.layout) != text || !slices.Contains(strings.Fields(form.weekdays), weekday) {
			continue
		}
		if form.weekdays == long {
			date = inCentury(date, leap, now)
		}
		return date.Add(leap), true
	}
	return time.Time{}, false
}

// inCentury moves a date with a two-digit year to the century that RFC 9110 asks
// for: the latest in which it, with its leap second, is no more than 50 years
// ahead of now.
func inCentury(date time.Time, leap time.Duration, now time.Time) time.Time {
	limit := now.UTC().AddDate(50, 0, 0)
	years := limit.Year() - date.Year()
	years -= (years%100 + 100) % 100 // whole centuries, rounded down
	moved := date.AddDate(years, 0, 0)
	if moved.Add(leap).After(limit) || moved.Day() != date.Day() { // no 29 February in 2100
		moved = date.AddDate(years-100, 0, 0)
	}
	return moved
}

// A wide is a number that is not negative, with a mantissa of 128 bits, hi before
// lo. The first bit stands for 2^exp, and is set unless the number is 0.
//
// A float64 would not do: it holds only 53 bits of a Duration's 63, and in a power
// the loss of each product adds up. A float64 times a Duration, which is what
// jitter needs, is exact here. A product of more than 128 bits loses less than 2⁻¹²⁴
// of itself.
type wide struct {
	hi, lo uint64
	exp    int
}

// finite reports whether x is neither infinite nor NaN.
func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

// widen returns x, which must be finite and not negative, without loss.
func widen(x float64) wide {
	frac, exp := math.Frexp(x)
	return wide{uint64(frac*(1<<53)) << 11, 0, exp - 1} // all 53 bits, at the top
}

// times returns a·b. Of its 256 bits, the lower 128 and what they would carry are
// left off.
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

// of returns a·d to the nearest nanosecond, or the largest Duration if that is
// more, for d ≥ 0.
func (a wide) of(d time.Duration) time.Duration {
	if d == 0 {
		return 0 // however large a is
	}
	zeros := bits.LeadingZeros64(uint64(d))
	product := a.times(wide{uint64(d) << zeros, 0, 63 - zeros})
	if product.exp >= 63 {
		return math.MaxInt64
	}
	halves := product.hi >> (62 - product.exp) // in half nanoseconds, to round
	return time.Duration(min(halves/2+halves%2, math.MaxInt64))
}
